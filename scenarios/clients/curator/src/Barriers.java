import java.util.Arrays;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.curator.framework.recipes.barriers.DistributedBarrier;
import org.apache.curator.framework.recipes.barriers.DistributedDoubleBarrier;

/** Workers that wait for each other. What each has called is known in this process without ZooKeeper. */
final class Barriers {
    private Barriers() {}

    static void add(Run run, Client client) {
        run.add(client.number == 0 ? new Controller(client, run) : new Waiter(client, run));
        run.add(new Double(client, run));
    }

    /** The rounds of the simple barrier: raised (the call has returned), and lowering (the call is about to be made). */
    static final class Rounds {
        volatile int raised;
        volatile int lowering;
        volatile int lowered;
        final AtomicInteger passed = new AtomicInteger();
    }

    private static final class Controller extends Worker {
        private final DistributedBarrier barrier;
        private final Rounds rounds;
        private final int waiters;

        Controller(Client client, Run run) {
            super("barrier", client, run);
            barrier = new DistributedBarrier(client.curator, "/barrier");
            rounds = run.rounds;
            waiters = run.options.clients - 1;
        }

        @Override
        void turn() throws Exception {
            doing("raises the barrier");
            barrier.setBarrier();
            rounds.passed.set(0);
            rounds.raised++;
            Journal.note("barrier " + rounds.raised + " is up");
            sleep(20, quiet ? 100 : 300);
            rounds.lowering = rounds.raised;
            doing("lowers the barrier");
            while (true) {
                try {
                    barrier.removeBarrier();
                    break;
                } catch (Exception unknown) {
                    if (isStopped()) {
                        return;
                    }
                    Thread.sleep(20);
                }
            }
            rounds.lowered = rounds.raised;
            doing("waits for the waiters");
            while (rounds.passed.get() < waiters && !isStopped()) {
                Thread.sleep(3);
            }
            progress();
        }
    }

    /** Syncs before it waits, because it learns outside of ZooKeeper that the barrier is up. */
    private static final class Waiter extends Worker {
        private final DistributedBarrier barrier;
        private final Rounds rounds;
        private int last;

        Waiter(Client client, Run run) {
            super("barrier", client, run);
            barrier = new DistributedBarrier(client.curator, "/barrier");
            rounds = run.rounds;
        }

        @Override
        void turn() throws Exception {
            doing("waits for the next barrier");
            while (rounds.raised == last) {
                Thread.sleep(3);
                if (isStopped()) {
                    return;
                }
            }
            int round = rounds.raised;
            client.sync("/barrier");
            doing("waits on barrier " + round);
            double since = Journal.now();
            while (true) {
                boolean open = barrier.waitOnBarrier(3, TimeUnit.SECONDS);
                if (open && rounds.lowering < round) {
                    tally.broken("passed a raised barrier", name() + " passed barrier " + round);
                }
                if (open || isStopped()) {
                    break;
                }
                if (rounds.lowered >= round && quiet && Journal.now() - since > 3_000) {
                    tally.broken("slept through the lowering", name() + " waited on barrier " + round + " since " + since);
                }
            }
            Journal.note("passed barrier " + round);
            last = round;
            rounds.passed.incrementAndGet();
            tally.count("beliefs");
            progress();
        }
    }

    /** One round of the double barrier, of which each client has a part. All rounds have paths of their own. */
    static final class Meeting {
        private final int clients;
        private final int[] entered;
        private final boolean[] calledEnter;
        private final boolean[] calledLeave;
        private int arrived;
        private int finished;
        private boolean hurried;

        Meeting(int clients) {
            this.clients = clients;
            entered = new int[clients];
            calledEnter = new boolean[clients];
            calledLeave = new boolean[clients];
        }
    }

    static final class Meetings extends ConcurrentHashMap<Integer, Meeting> {}

    /**
     * Enters and leaves. `enter` may return true only if each member has called it, and if no member gets false: a member
     * whose time was up has not entered. `leave` may return true only if each member that has entered has called it.
     */
    private static final class Double extends Worker {
        private static final ScheduledExecutorService ALARMS = Executors.newSingleThreadScheduledExecutor();
        private static final int PATIENCE_MILLIS = 3_000;
        /** More than all retries of Curator take. */
        private static final int OVERSLEPT_MILLIS = 4_000;
        private static final int IN = 1;
        private static final int TIMED_OUT = 2;
        private static final int FAILED = 3;
        private final Meetings meetings;
        private final Ensemble ensemble;
        private final int clients;
        private int round;

        Double(Client client, Run run) {
            super("double-barrier", client, run);
            meetings = run.meetings;
            ensemble = run.ensemble;
            clients = run.options.clients;
        }

        @Override
        void turn() throws Exception {
            Meeting meeting = meetings.computeIfAbsent(round, any -> new Meeting(clients));
            doing("waits for the members of round " + round);
            synchronized (meeting) {
                meeting.arrived++;
                meeting.notifyAll();
                while (meeting.arrived < clients && !isStopped()) {
                    meeting.wait(100);
                }
            }
            if (isStopped()) {
                return;
            }
            String path = "/double-barrier/" + round;
            round++;
            sleep(0, quiet ? 200 : random.nextInt(3) == 0 ? 300 : 40);
            DistributedDoubleBarrier barrier = new DistributedDoubleBarrier(client.curator, path, clients);
            boolean hurried = !quiet && random.nextInt(6) == 0;
            try {
                enter(barrier, meeting, path, hurried ? 30 : PATIENCE_MILLIS);
            } finally {
                leave(barrier, meeting, path);
            }
        }

        private void enter(DistributedDoubleBarrier barrier, Meeting meeting, String path, int millis) throws Exception {
            doing("enters " + path);
            synchronized (meeting) {
                meeting.calledEnter[client.number] = true;
                meeting.hurried |= millis < PATIENCE_MILLIS;
            }
            int result = FAILED;
            ScheduledFuture<?> alarm = alarm("enter", path, millis);
            try {
                result = barrier.enter(millis, TimeUnit.MILLISECONDS) ? IN : TIMED_OUT;
            } finally {
                alarm.cancel(false);
                synchronized (meeting) {
                    meeting.entered[client.number] = result;
                    if (result == IN) {
                        tally.count("beliefs");
                        for (boolean called : meeting.calledEnter) {
                            if (!called) {
                                tally.broken("entered alone", path + ": " + name() + " entered before another member has called enter");
                            }
                        }
                    }
                }
                if (result != FAILED) {
                    ensemble.observe(String.format("{\"observer\": \"client %d/double-barrier\", \"says\": \"verdict\", "
                            + "\"fields\": {\"barrier\": \"%s\", \"entered\": \"%s\"}}", client.number, path, result == IN ? "yes" : "no"));
                }
                Journal.note(path + ": " + name() + (result == IN ? " entered" : result == TIMED_OUT ? " timed out" : " failed"));
            }
        }

        private void leave(DistributedDoubleBarrier barrier, Meeting meeting, String path) throws Exception {
            sleep(0, 20);
            doing("leaves " + path);
            synchronized (meeting) {
                meeting.calledLeave[client.number] = true;
            }
            boolean left = false;
            ScheduledFuture<?> alarm = alarm("leave", path, PATIENCE_MILLIS);
            try {
                left = barrier.leave(PATIENCE_MILLIS, TimeUnit.MILLISECONDS);
                tally.count(left ? "left" : "leave timed out");
            } finally {
                alarm.cancel(false);
                synchronized (meeting) {
                    if (left && meeting.entered[client.number] == IN) {
                        for (int member = 0; member < clients; member++) {
                            if (meeting.entered[member] == IN && !meeting.calledLeave[member]) {
                                tally.count("left before a member (judged by sessions below)");
                                Journal.note(path + ": " + name() + " left before client " + member + " called leave");
                            }
                        }
                    }
                    if (++meeting.finished == clients) {
                        judge(meeting, path);
                    }
                }
            }
            if (left) {
                progress();
            }
        }

        /** Notes a call that takes longer than its own time and all retries, and interrupts it. */
        private ScheduledFuture<?> alarm(String call, String path, int millis) {
            Thread self = Thread.currentThread();
            return ALARMS.schedule(() -> {
                tally.broken("timed " + call + " does not end", path + ": " + name() + " is in " + call + "() since "
                        + (millis + OVERSLEPT_MILLIS) + " ms, at most " + millis + " were asked for");
                self.interrupt();
            }, millis + OVERSLEPT_MILLIS, TimeUnit.MILLISECONDS);
        }

        private void judge(Meeting meeting, String path) {
            boolean in = Arrays.stream(meeting.entered).anyMatch(each -> each == IN);
            boolean out = Arrays.stream(meeting.entered).anyMatch(each -> each == TIMED_OUT);
            if (in && out) {
                tally.broken(meeting.hurried ? "entered without all, one was in a hurry" : "entered without all", path + ": " + Arrays.toString(meeting.entered) + " (1 entered, 2 timed out, 3 failed)");
            }
            if (in && Arrays.stream(meeting.entered).anyMatch(each -> each == FAILED)) {
                tally.count("entered with a member whose enter failed");
            }
        }
    }
}
