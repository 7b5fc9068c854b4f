import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.recipes.locks.InterProcessMultiLock;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.InterProcessReadWriteLock;
import org.apache.curator.framework.recipes.locks.InterProcessSemaphoreMutex;
import org.apache.curator.framework.recipes.locks.InterProcessSemaphoreV2;
import org.apache.curator.framework.recipes.locks.Lease;
import org.apache.zookeeper.data.Stat;

/** Workers that acquire, hold for some milliseconds, and give back. */
final class Locks {
    private static final int PERMITS = 2;

    private Locks() {}

    static void add(Run run, Client client) {
        run.add(new Mutex(client, run));
        run.add(new SemaphoreMutex(client, run));
        run.add(new ReadWrite(client, run));
        run.add(new Semaphore(client, run));
        run.add(new Multi(client, run));
    }

    /** One turn of any lock: acquire within a time, say so, hold, say the end, give back. */
    private abstract static class Holder extends Worker {
        final Belief belief;
        final String parent;

        Holder(String recipe, Client client, Run run) {
            super(recipe, client, run);
            parent = "/" + recipe;
            belief = new Belief(client, recipe, false, run.ensemble, run.checker);
        }

        /** Returns whether it holds after at most so many milliseconds. */
        abstract boolean acquire(int millis) throws Exception;

        abstract String path() throws Exception;

        abstract void giveBack() throws Exception;

        boolean say(Stat stat) throws Exception {
            return belief.granted(List.of(parent), parent, "alone", 1, stat);
        }

        /** Where this recipe has its contenders' znodes. */
        List<String> parents() {
            return List.of(parent);
        }

        @Override
        void turn() throws Exception {
            boolean patient = quiet || random.nextInt(3) > 0;
            doing("acquires");
            int losses = client.losses();
            if (!acquire(patient ? 60_000 : 50 + random.nextInt(200))) {
                tally.count("timeouts");
                return;
            }
            doing("holds");
            try {
                hold(losses);
            } finally {
                belief.released("by itself");
                doing("gives back");
                giveBack();
            }
            progress();
            sleep(quiet ? 50 : 2, quiet ? 100 : 40);
        }

        private void hold(int losses) throws Exception {
            String path = path();
            Stat stat = path == null ? null : client.stat(path);
            if (stat == null) {
                tally.count(client.losses() == losses ? "granted without a znode" : "granted without a znode, after a loss");
                Journal.note(recipe + ": granted, but " + path + " is not there");
                return;
            }
            if (stat.getEphemeralOwner() != client.session()) {
                tally.count("granted by a znode of another session");
                Journal.note(String.format("%s: granted by %s of session 0x%x", recipe, path, stat.getEphemeralOwner()));
            }
            if (!say(stat)) {
                tally.count("granted while disconnected");
                return;
            }
            long end = System.nanoTime() + (quiet ? 2 : 1 + random.nextInt(40)) * 1_000_000L;
            while (belief.holds() && System.nanoTime() < end) {
                Thread.sleep(3);
            }
        }

        @Override
        String scene() throws Exception {
            StringBuilder text = new StringBuilder();
            for (String each : parents()) {
                text.append("; ").append(each).append(":");
                client.sync(each);
                for (String child : client.curator.getChildren().forPath(each)) {
                    Stat stat = client.stat(each + "/" + child);
                    text.append(stat == null ? " gone" : String.format(" %s (czxid 0x%x, session 0x%x)", child,
                            stat.getCzxid(), stat.getEphemeralOwner()));
                }
            }
            return text.append(String.format("; session 0x%x", client.session())).toString();
        }

        /** After all workers have stopped, no contender may be left: it would be one that belongs to no attempt. */
        @Override
        String leaves() throws Exception {
            StringBuilder left = new StringBuilder();
            for (String each : parents()) {
                client.sync(each);
                if (client.stat(each) != null) {
                    for (String child : client.curator.getChildren().forPath(each)) {
                        Stat stat = client.stat(each + "/" + child);
                        if (stat != null && stat.getEphemeralOwner() == client.session()) {
                            left.append(String.format(" %s/%s (czxid 0x%x)", each, child, stat.getCzxid()));
                        }
                    }
                }
            }
            return left.length() == 0 ? null : "a znode of no attempt is left:" + left;
        }
    }

    private static final class Mutex extends Holder {
        private final InterProcessMutex mutex;

        Mutex(Client client, Run run) {
            super("mutex", client, run);
            mutex = new InterProcessMutex(client.curator, parent);
        }

        @Override
        boolean acquire(int millis) throws Exception {
            return mutex.acquire(millis, TimeUnit.MILLISECONDS);
        }

        @Override
        String path() throws Exception {
            return Inside.path(mutex);
        }

        @Override
        void giveBack() throws Exception {
            mutex.release();
        }
    }

    private static final class SemaphoreMutex extends Holder {
        private final InterProcessSemaphoreMutex mutex;

        SemaphoreMutex(Client client, Run run) {
            super("semaphore-mutex", client, run);
            mutex = new InterProcessSemaphoreMutex(client.curator, parent);
        }

        @Override
        boolean acquire(int millis) throws Exception {
            return mutex.acquire(millis, TimeUnit.MILLISECONDS);
        }

        @Override
        String path() throws Exception {
            return Inside.path(mutex, parent);
        }

        @Override
        void giveBack() throws Exception {
            mutex.release();
        }

        @Override
        List<String> parents() {
            return List.of(parent + "/locks", parent + "/leases");
        }
    }

    /** Readers share; a writer is alone, and sometimes becomes a reader before it gives the write lock back. */
    private static final class ReadWrite extends Holder {
        private final InterProcessReadWriteLock locks;
        private final int clients;
        private final boolean downgrades;
        private InterProcessMutex held;
        /** The writer's znode, if the holder is a reader that was a writer: its place in the order of grants is that one's. */
        private Stat was;

        ReadWrite(Client client, Run run) {
            super("read-write", client, run);
            locks = new InterProcessReadWriteLock(client.curator, parent);
            clients = run.options.clients;
            downgrades = run.options.downgrades;
        }

        @Override
        boolean acquire(int millis) throws Exception {
            InterProcessMutex wanted = random.nextInt(3) == 0 ? locks.writeLock() : locks.readLock();
            if (!wanted.acquire(millis, TimeUnit.MILLISECONDS)) {
                return false;
            }
            held = wanted;
            was = null;
            if (downgrades && wanted == locks.writeLock() && random.nextInt(3) == 0) {
                downgrade();
            }
            return true;
        }

        private void downgrade() throws Exception {
            boolean reads = false;
            try {
                was = client.stat(Inside.path(locks.writeLock()));
                reads = locks.readLock().acquire(1, TimeUnit.SECONDS);
            } finally {
                if (reads) {
                    held = locks.readLock();
                    locks.writeLock().release();
                    tally.count("downgrades");
                } else {
                    locks.writeLock().release();
                }
            }
            if (!reads) {
                throw new IllegalStateException("a writer could not become a reader");
            }
        }

        @Override
        String path() throws Exception {
            return Inside.path(held);
        }

        /** `never-two-at-once` knows no readers: each client has a lock, a reader takes its own, and a writer all of them. */
        @Override
        boolean say(Stat stat) throws Exception {
            boolean writes = held == locks.writeLock();
            List<String> keys = new ArrayList<>();
            for (int number = 0; number < clients; number++) {
                if (writes || number == client.number) {
                    keys.add(parent + "#" + number);
                }
            }
            return belief.granted(keys, parent, writes ? "alone" : "shared", Integer.MAX_VALUE,
                    was == null ? stat : was);
        }

        @Override
        void giveBack() throws Exception {
            held.release();
        }
    }

    private static final class Semaphore extends Holder {
        private final InterProcessSemaphoreV2 semaphore;
        private Lease lease;

        Semaphore(Client client, Run run) {
            super("semaphore", client, run);
            semaphore = new InterProcessSemaphoreV2(client.curator, parent, PERMITS);
        }

        @Override
        boolean acquire(int millis) throws Exception {
            lease = semaphore.acquire(millis, TimeUnit.MILLISECONDS);
            return lease != null;
        }

        @Override
        String path() {
            return Inside.path(lease, parent);
        }

        @Override
        boolean say(Stat stat) throws Exception {
            return belief.granted(List.of(), parent, "shared", PERMITS, stat);
        }

        @Override
        void giveBack() {
            semaphore.returnLease(lease);
        }

        @Override
        List<String> parents() {
            return List.of(parent + "/locks", parent + "/leases");
        }
    }

    private static final class Multi extends Holder {
        private final InterProcessMutex first;
        private final InterProcessMutex second;
        private final InterProcessMultiLock both;

        Multi(Client client, Run run) {
            super("multi-lock", client, run);
            first = new InterProcessMutex(client.curator, parent + "/first");
            second = new InterProcessMutex(client.curator, parent + "/second");
            both = new InterProcessMultiLock(List.of(first, second));
        }

        @Override
        boolean acquire(int millis) throws Exception {
            return both.acquire(millis, TimeUnit.MILLISECONDS);
        }

        /** The second one is acquired last, so its order is the order of grants. */
        @Override
        String path() throws Exception {
            return Inside.path(second);
        }

        @Override
        void giveBack() throws Exception {
            both.release();
        }

        @Override
        List<String> parents() {
            return List.of(parent + "/first", parent + "/second");
        }
    }
}
