import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.recipes.atomic.DistributedAtomicLong;
import org.apache.curator.framework.recipes.barriers.DistributedDoubleBarrier;
import org.apache.curator.framework.recipes.queue.DistributedQueue;
import org.apache.curator.framework.recipes.shared.SharedCount;
import org.apache.curator.framework.recipes.shared.SharedValue;
import org.apache.curator.framework.recipes.shared.VersionedValue;
import org.apache.curator.retry.RetryNTimes;

/** Directed cases of barriers, counters, queues and caches. Each returns what happened. */
final class OtherCases extends Scene {
    OtherCases(Options options, Ensemble ensemble, Client a, Client b) {
        super(options, ensemble, a, b);
    }

    String doubleBarrier(String fate) throws Exception {
        a.curator.create().forPath("/double");
        next(a, "create", fate);
        double since = Journal.now();
        Thread caller = Thread.currentThread();
        Thread alarm = new Thread(() -> {
            try {
                Thread.sleep(6_000);
                caller.interrupt();
            } catch (InterruptedException inTime) {
                Journal.note("in time");
            }
        });
        alarm.start();
        String first;
        try {
            first = "enter(1 s) of 2 returned " + new DistributedDoubleBarrier(a.curator, "/double", 2).enter(1, TimeUnit.SECONDS);
        } catch (Exception failure) {
            first = "enter(1 s) of 2 threw " + failure;
        }
        first += " after " + Math.round(Journal.now() - since) + " ms";
        alarm.interrupt();
        alarm.join();
        Thread.interrupted();
        boolean second = new DistributedDoubleBarrier(b.curator, "/double", 2).enter(1, TimeUnit.SECONDS);
        return "alone, " + first + "; a second member's enter then returned " + second;
    }

    String timedOutMember() throws Exception {
        boolean first = new DistributedDoubleBarrier(a.curator, "/double", 2).enter(200, TimeUnit.MILLISECONDS);
        boolean second = new DistributedDoubleBarrier(b.curator, "/double", 2).enter(200, TimeUnit.MILLISECONDS);
        return "the first member's enter returned " + first + ", then the second one's " + second;
    }

    String atomicLong(String fate) throws Exception {
        DistributedAtomicLong counter = new DistributedAtomicLong(a.curator, "/long", new RetryNTimes(5, 20));
        counter.increment();
        next(a, "setData", fate);
        String said = "" + counter.increment().succeeded();
        Thread.sleep(1_000);
        return "two increments, the second succeeded: " + said + "; the value is "
                + new DistributedAtomicLong(b.curator, "/long", new RetryNTimes(5, 20)).get().postValue();
    }

    String sharedCount(String fate) throws Exception {
        SharedCount count = new SharedCount(a.curator, "/count", 0);
        count.start();
        next(a, "setData", fate);
        VersionedValue<Integer> seen = count.getVersionedValue();
        boolean set = count.trySetCount(seen, 7);
        Thread.sleep(1_000);
        b.sync("/count");
        return "trySetCount(7) returned " + set + "; the value is " + ByteBuffer.wrap(b.curator.getData().forPath("/count")).getInt();
    }

    String claim(String fate) throws Exception {
        Queues.Probe probe = new Queues.Probe();
        DistributedQueue<String> producer = probe.queue(b, "/queue", null, false);
        producer.put("item");
        producer.flushPuts(2, TimeUnit.SECONDS);
        a.curator.create().forPath("/claims");
        next(a, "create /claims/queue-0000000000", fate);
        DistributedQueue<String> consumer = probe.queue(a, "/queue", "/claims", true);
        boolean taken = probe.taken.await(5, TimeUnit.SECONDS);
        return "delivered within 5 s: " + taken + ", " + probe.count + " times; queue " + children(b, "/queue") + ", claims "
                + children(b, "/claims");
    }

    String take(String fate) throws Exception {
        Queues.Probe probe = new Queues.Probe();
        DistributedQueue<String> producer = probe.queue(b, "/queue", null, false);
        producer.put("item");
        producer.flushPuts(2, TimeUnit.SECONDS);
        next(a, "delete", fate);
        DistributedQueue<String> consumer = probe.queue(a, "/queue", null, true);
        boolean taken = probe.taken.await(5, TimeUnit.SECONDS);
        return "delivered within 5 s: " + taken + ", " + probe.count + " times; queue " + children(b, "/queue");
    }

    String put(String fate) throws Exception {
        Queues.Probe probe = new Queues.Probe();
        DistributedQueue<String> producer = probe.queue(a, "/queue", null, false);
        next(a, "create", fate);
        producer.put("item");
        producer.flushPuts(5, TimeUnit.SECONDS);
        Thread.sleep(1_000);
        String queue = children(b, "/queue");
        DistributedQueue<String> consumer = probe.queue(b, "/queue", null, true);
        Thread.sleep(1_000);
        return "put once: " + queue + "; delivered " + probe.count + " times";
    }

    /** The value's znode is deleted and created again, with the same version, while the watcher's client is away. */
    String recreatedValue() throws Exception {
        SharedValue value = new SharedValue(a.curator, "/value", "first".getBytes(StandardCharsets.UTF_8));
        value.start();
        ensemble.command("disconnect " + session(a));
        b.curator.delete().forPath("/value");
        b.curator.create().forPath("/value", "second".getBytes(StandardCharsets.UTF_8));
        Thread.sleep(3_000);
        a.sync("/value");
        return "the value is second, shown is " + new String(value.getValue(), StandardCharsets.UTF_8);
    }

    String recreated() throws Exception {
        a.curator.create().forPath(Caches.ROOT, "root".getBytes(StandardCharsets.UTF_8));
        a.curator.create().forPath(Caches.ROOT + "/a", "first".getBytes(StandardCharsets.UTF_8));
        List<Object[]> views = Caches.views(a);
        for (Object[] view : views) {
            ((View) view[1]).start();
        }
        Thread.sleep(1_000);
        ensemble.command("disconnect " + session(a));
        b.curator.delete().forPath(Caches.ROOT + "/a");
        b.curator.create().forPath(Caches.ROOT + "/a", "second".getBytes(StandardCharsets.UTF_8));
        Thread.sleep(4_000);
        StringBuilder text = new StringBuilder("/cache/a is second;");
        for (Object[] view : views) {
            text.append(" ").append(view[0]).append(" shows ").append(((View) view[1]).shown().get(Caches.ROOT + "/a"))
                    .append(", told ").append(((View) view[1]).told().get(Caches.ROOT + "/a")).append(";");
        }
        return text.toString();
    }
}
