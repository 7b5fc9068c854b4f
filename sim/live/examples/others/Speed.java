import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Locale;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException.Code;
import org.apache.zookeeper.Op;
import org.apache.zookeeper.Watcher.Event.KeeperState;
import org.apache.zookeeper.ZooDefs.Ids;
import org.apache.zookeeper.ZooKeeper;

/**
 * Measures operations of Apache's Java client on a server: {@code java -cp ... Speed.java HOST:PORT [SECONDS]}.
 *
 * <p>For each operation and each number of requests under way, prints the operations per second and the time of one
 * (half of them are faster, and 99 of 100). SECONDS is the time of each measurement, 3 if it is missing. Before the
 * first line, each operation runs for a third of that time unmeasured, so that the client's code is compiled.
 */
public final class Speed {
    private static final byte[] DATA = "x".repeat(100).getBytes(StandardCharsets.US_ASCII);

    private enum Kind {
        CREATE,
        GET,
        SET,
        MULTI
    }

    private final ZooKeeper zooKeeper;
    private final String root;
    private final AtomicInteger failure = new AtomicInteger(Code.OK.intValue());
    /** The times of the operations in nanoseconds. Only the client's event thread adds to them. */
    private long[] times = new long[1 << 16];
    private int count;

    private Speed(ZooKeeper zooKeeper, String root) {
        this.zooKeeper = zooKeeper;
        this.root = root;
    }

    public static void main(String[] arguments) throws Exception {
        String server = arguments.length > 0 ? arguments[0] : "127.0.0.1:2181";
        double seconds = arguments.length > 1 ? Double.parseDouble(arguments[1]) : 3;
        CountDownLatch connected = new CountDownLatch(1);
        ZooKeeper zooKeeper = new ZooKeeper(server, 10_000, event -> {
            if (event.getState() == KeeperState.SyncConnected) {
                connected.countDown();
            }
        });
        connected.await();
        String root = "/speed-" + Long.toUnsignedString(System.nanoTime() ^ zooKeeper.getSessionId());
        zooKeeper.create(root, new byte[0], Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT);
        zooKeeper.create(root + "/read", DATA, Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT);
        for (Kind kind : Kind.values()) {
            new Speed(zooKeeper, root).measure(kind, "warm", 16, seconds / 3);
        }
        System.out.println("operation under way    per second        p50        p99");
        for (Kind kind : Kind.values()) {
            for (int underWay : new int[] {1, 16, 256}) {
                Speed speed = new Speed(zooKeeper, root);
                speed.measure(kind, Integer.toString(underWay), underWay, seconds);
                long[] sorted = Arrays.copyOf(speed.times, speed.count);
                Arrays.sort(sorted);
                String name = kind.name().toLowerCase(Locale.ROOT);
                System.out.printf(Locale.ROOT, "%-9s %9d %13.0f %10s %10s%n", name, underWay,
                        speed.count / seconds, spelled(at(sorted, 50)), spelled(at(sorted, 99)));
            }
        }
        zooKeeper.close();
    }

    private void measure(Kind kind, String label, int underWay, double seconds) throws Exception {
        long end = System.nanoTime() + (long) (seconds * 1e9);
        Semaphore free = new Semaphore(underWay);
        for (int number = 0; ; number++) {
            free.acquire();
            if (System.nanoTime() - end >= 0) {
                free.release();
                break;
            }
            begin(kind, label + "-" + number, free);
        }
        free.acquire(underWay);
        if (failure.get() != Code.OK.intValue()) {
            throw new IllegalStateException(kind + " failed with " + Code.get(failure.get()));
        }
    }

    private void begin(Kind kind, String name, Semaphore free) {
        long begin = System.nanoTime();
        switch (kind) {
            case CREATE ->
                zooKeeper.create(root + "/c-" + name, DATA, Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT,
                        (code, path, context, created, stat) -> done(code, begin, free), null);
            case GET ->
                zooKeeper.getData(root + "/read", false,
                        (code, path, context, data, stat) -> done(code, begin, free), null);
            case SET ->
                zooKeeper.setData(root + "/read", DATA, -1,
                        (code, path, context, stat) -> done(code, begin, free), null);
            case MULTI -> {
                String path = root + "/m-" + name;
                Op create = Op.create(path, DATA, Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT);
                zooKeeper.multi(Arrays.asList(create, Op.delete(path, -1)),
                        (code, unused, context, results) -> done(code, begin, free), null);
            }
        }
    }

    private void done(int code, long begin, Semaphore free) {
        if (code != Code.OK.intValue()) {
            failure.compareAndSet(Code.OK.intValue(), code);
        }
        if (count == times.length) {
            times = Arrays.copyOf(times, 2 * count);
        }
        times[count++] = System.nanoTime() - begin;
        free.release();
    }

    private static long at(long[] sorted, int part) {
        return sorted[Math.min((int) ((long) sorted.length * part / 100), sorted.length - 1)];
    }

    private static String spelled(long nanoseconds) {
        if (nanoseconds >= 1_000_000_000) {
            return String.format(Locale.ROOT, "%.1fs", nanoseconds / 1e9);
        }
        if (nanoseconds >= 1_000_000) {
            return String.format(Locale.ROOT, "%.1fms", nanoseconds / 1e6);
        }
        return String.format(Locale.ROOT, "%.1fµs", nanoseconds / 1e3);
    }
}
