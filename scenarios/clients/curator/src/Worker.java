import java.util.Random;

/** A thread of control that uses one recipe through one client, turn after turn, until it has to stop. */
abstract class Worker implements Runnable {
    final Client client;
    final String recipe;
    final Tally tally;
    final Random random;
    /** True from healing on: the worker must use what it acquires for a short time only, and acquire again. */
    volatile boolean quiet;
    private volatile boolean stopped;
    private volatile double lastProgress;
    private volatile String doing = "starts";

    Worker(String recipe, Client client, Run run) {
        this.recipe = recipe;
        this.client = client;
        tally = run.tallies.of(recipe);
        random = new Random(run.options.seed * 1_000 + client.number * 100 + recipe.hashCode());
    }

    String name() {
        return recipe + " " + client.number;
    }

    /** What must be there before the first turn. */
    void start() throws Exception {}

    abstract void turn() throws Exception;

    /** Checks what must hold after healing, when all workers still run; called again until it returns null or time is up. */
    String settles() throws Exception {
        return null;
    }

    /** Checks what must hold when all workers have stopped; called again until it returns null or time is up. */
    String leaves() throws Exception {
        return null;
    }

    /** The znodes that explain why there is no progress. */
    String scene() throws Exception {
        return "";
    }

    /** True if the worker has to make progress after healing. */
    boolean mustProgress() {
        return true;
    }

    final void progress() {
        lastProgress = Journal.now();
        tally.count("turns");
    }

    final double lastProgress() {
        return lastProgress;
    }

    final void stop() {
        stopped = true;
    }

    final boolean isStopped() {
        return stopped;
    }

    final void doing(String what) {
        doing = what;
    }

    final String doing() {
        return doing;
    }

    final void sleep(int least, int most) throws InterruptedException {
        Thread.sleep(least + random.nextInt(most - least + 1));
    }

    @Override
    public final void run() {
        boolean started = false;
        while (!stopped) {
            try {
                if (!started) {
                    start();
                    started = true;
                }
                turn();
            } catch (Exception failure) {
                tally.count("failed turns");
                // Only these are documented: Curator's recipes throw what ZooKeeper has answered.
                if (failure instanceof NullPointerException || failure instanceof IllegalArgumentException) {
                    tally.count("broken: unexpected " + failure.getClass().getSimpleName());
                }
                Journal.note(doing + " failed: " + failure);
                Thread.interrupted(); // An alarm can come just after the call that it was for.
                try {
                    Thread.sleep(20);
                } catch (InterruptedException late) {
                    Journal.note("woken by an alarm");
                }
            }
        }
        doing = "has stopped";
    }
}
