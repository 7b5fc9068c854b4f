import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.retry.ExponentialBackoffRetry;

/**
 * Measures how often Curator's InterProcessMutex changes hands:
 * {@code java -cp ... Handover.java HOST:PORT [SECONDS]}.
 *
 * <p>Each contender has a thread and a session of its own, and acquires and releases the lock in a loop. Prints the
 * grants per second of all contenders together. SECONDS is the time of each measurement, 10 if it is missing. Before
 * the first line, two contenders run for a third of that time unmeasured, so that the client's code is compiled.
 */
public final class Handover {
    private Handover() {}

    public static void main(String[] arguments) throws Exception {
        String server = arguments.length > 0 ? arguments[0] : "127.0.0.1:2181";
        double seconds = arguments.length > 1 ? Double.parseDouble(arguments[1]) : 10;
        String root = "/handover-" + System.currentTimeMillis();
        grants(server, root + "/warm", 2, seconds / 3);
        System.out.println("contenders    per second");
        for (int contenders : new int[] {2, 8}) {
            long grants = grants(server, root + "/lock-" + contenders, contenders, seconds);
            System.out.printf(Locale.ROOT, "%10d %13.0f%n", contenders, grants / seconds);
        }
    }

    private static long grants(String server, String lock, int contenders, double seconds) throws Exception {
        ExecutorService threads = Executors.newFixedThreadPool(contenders);
        List<CuratorFramework> clients = new ArrayList<>();
        for (int at = 0; at < contenders; at++) {
            CuratorFramework client =
                    CuratorFrameworkFactory.newClient(server, 10_000, 10_000, new ExponentialBackoffRetry(100, 3));
            client.start();
            client.blockUntilConnected();
            client.createContainers(lock);
            clients.add(client);
        }
        try {
            long end = System.nanoTime() + (long) (seconds * 1e9);
            List<Callable<Long>> programs = new ArrayList<>();
            for (CuratorFramework client : clients) {
                programs.add(() -> contend(new InterProcessMutex(client, lock), end));
            }
            long grants = 0;
            for (Future<Long> future : threads.invokeAll(programs)) {
                grants += future.get();
            }
            return grants;
        } finally {
            threads.shutdown();
            clients.forEach(CuratorFramework::close);
        }
    }

    /** Returns the number of grants before the end. */
    private static long contend(InterProcessMutex mutex, long end) throws Exception {
        for (long grants = 0; ; grants++) {
            mutex.acquire();
            boolean isOver = System.nanoTime() - end >= 0;
            mutex.release();
            if (isOver) {
                return grants;
            }
        }
    }
}
