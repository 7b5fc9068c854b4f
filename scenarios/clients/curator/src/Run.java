import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * One run: work under faults, then healing, then quiescence in which everything must go on, then the end, at which no
 * recipe may have left anything behind. Prints one line of JSON.
 */
final class Run {
    private static final double PROGRESS_MILLIS = 8_000;
    final Options options;
    final Ensemble ensemble;
    final Tallies tallies = new Tallies();
    final Checker checker;
    final Barriers.Rounds rounds = new Barriers.Rounds();
    final Barriers.Meetings meetings = new Barriers.Meetings();
    final Map<String, Queues.Ledger> ledgers = new ConcurrentHashMap<>();
    final Map<String, Counters.Sum> sums = new ConcurrentHashMap<>();
    private final List<Client> clients = new ArrayList<>();
    private final List<Worker> workers = new ArrayList<>();
    private final List<Thread> threads = new ArrayList<>();

    private Run(Options options) throws Exception {
        this.options = options;
        Journal.open(options.folder.resolve("journal.log"));
        ensemble = new Ensemble(options);
        checker = new Checker(ensemble, tallies);
    }

    public static void main(String[] arguments) throws Exception {
        Run run = new Run(Options.of(arguments));
        int code = 2;
        try {
            code = run.run();
        } finally {
            run.ensemble.close();
            Runtime.getRuntime().halt(code);
        }
    }

    void add(Worker worker) {
        if (options.only.isEmpty() || options.only.contains(worker.recipe)) {
            workers.add(worker);
        }
    }

    private int run() throws Exception {
        for (int number = 0; number < options.clients; number++) {
            Client client = new Client(number, ensemble, options);
            clients.add(client);
            client.curator.blockUntilConnected();
            Locks.add(this, client);
            Leaders.add(this, client);
            Barriers.add(this, client);
            Queues.add(this, client);
            Counters.add(this, client);
            Caches.add(this, client);
            Nodes.add(this, client);
        }
        for (Worker worker : workers) {
            Thread thread = new Thread(worker, worker.name());
            thread.setDaemon(true);
            threads.add(thread);
            thread.start();
        }
        Faults faults = new Faults(ensemble, clients, options);
        Thread faulty = new Thread(faults, "faults");
        faulty.start();
        Thread.sleep(options.workMillis);
        faults.stop();
        faulty.join();
        workers.forEach(worker -> worker.quiet = true);
        ensemble.heal();
        double healed = Journal.now();
        Journal.note("healed");
        settle(healed);
        end();
        return report(healed);
    }

    /** Waits until every worker has made progress and has settled, and notes which have not in time. */
    private void settle(double healed) throws InterruptedException {
        List<Worker> open = new ArrayList<>(workers);
        Map<Worker, String> why = new ConcurrentHashMap<>();
        while (!open.isEmpty() && Journal.now() < healed + PROGRESS_MILLIS) {
            Thread.sleep(100);
            open.removeIf(worker -> settled(worker, healed, why));
        }
        if (open.stream().anyMatch(worker -> why.get(worker).startsWith("no progress"))) {
            noteThreads();
        }
        for (Worker worker : open) {
            worker.tally.broken(why.get(worker).startsWith("no progress") ? "no progress after healing" : "does not settle",
                    worker.name() + ": " + why.get(worker) + scene(worker));
        }
    }

    private static boolean settled(Worker worker, double healed, Map<Worker, String> why) {
        if (worker.mustProgress() && worker.lastProgress() < healed) {
            why.put(worker, "no progress; it " + worker.doing());
            return false;
        }
        try {
            String open = worker.settles();
            why.put(worker, String.valueOf(open));
            return open == null;
        } catch (Exception failure) {
            why.put(worker, failure.toString());
            return false;
        }
    }

    private static void noteThreads() {
        Thread.getAllStackTraces().forEach((thread, stack) -> {
            StringBuilder text = new StringBuilder("stack of " + thread.getName() + ":");
            for (StackTraceElement element : stack) {
                text.append(" ").append(element.getClassName().replaceAll(".*\\.", "")).append(".").append(element.getMethodName())
                        .append(":").append(element.getLineNumber());
            }
            Journal.note(text.toString());
        });
    }

    private static String scene(Worker worker) {
        try {
            return worker.scene();
        } catch (Exception failure) {
            return "; " + failure;
        }
    }

    /** Stops the workers and waits until nothing is left of them. */
    private void end() throws InterruptedException {
        workers.forEach(Worker::stop);
        double since = Journal.now();
        for (int at = 0; at < threads.size(); at++) {
            threads.get(at).join((long) Math.max(1, since + 3_000 - Journal.now()));
        }
        List<Worker> open = new ArrayList<>();
        for (int at = 0; at < threads.size(); at++) {
            if (!threads.get(at).isAlive()) {
                open.add(workers.get(at));
            } else {
                Journal.note(workers.get(at).name() + " does not end; it " + workers.get(at).doing());
            }
        }
        Map<Worker, String> why = new ConcurrentHashMap<>();
        double stopped = Journal.now();
        while (!open.isEmpty() && Journal.now() < stopped + options.quietMillis / 2) {
            open.removeIf(worker -> {
                try {
                    String left = worker.leaves();
                    why.put(worker, String.valueOf(left));
                    return left == null;
                } catch (Exception failure) {
                    why.put(worker, failure.toString());
                    return false;
                }
            });
            Thread.sleep(50);
        }
        for (Worker worker : open) {
            worker.tally.broken("at the end", worker.name() + ": " + why.get(worker));
        }
    }

    private int report(double healed) throws Exception {
        Journal.note("settled and ended " + (Journal.now() - healed) + " ms after healing");
        String violation = ensemble.violation();
        int exit = ensemble.stop();
        boolean broken = tallies.anyBroken();
        System.out.println("{\"seed\": " + options.seed + ", \"broken\": " + broken + ", \"judged by the ensemble\": "
                + ensemble.observes() + ", \"violation\": " + (violation == null ? "null" : violation) + ", \"exit of serve\": " + exit
                + ", \"millis after healing\": " + Math.round(Journal.now() - healed) + ", \"recipes\": " + tallies.json() + "}");
        return broken || exit != 0 ? 1 : 0;
    }
}
