import java.nio.charset.StandardCharsets;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.curator.framework.recipes.atomic.AtomicValue;
import org.apache.curator.framework.recipes.atomic.DistributedAtomicLong;
import org.apache.curator.framework.recipes.shared.SharedCount;
import org.apache.curator.framework.recipes.shared.SharedValue;
import org.apache.curator.framework.recipes.shared.VersionedValue;
import org.apache.curator.retry.RetryNTimes;

/** Workers that count. The final count must lie between what was acknowledged and that plus what is unknown. */
final class Counters {
    private Counters() {}

    static void add(Run run, Client client) {
        run.add(new AtomicLong(client, run));
        run.add(new Count(client, run));
        run.add(new Value(client, run));
    }

    /** Verdicts of all clients about one counter. */
    static final class Sum {
        final AtomicInteger acknowledged = new AtomicInteger();
        final AtomicInteger refused = new AtomicInteger();
        final AtomicInteger unknown = new AtomicInteger();

        String judge(long value) {
            int least = acknowledged.get();
            int most = least + unknown.get();
            if (value >= least && value <= most) {
                return null;
            }
            return value + " is not between " + least + " acknowledged and " + most + " with the unknown ones (" + refused
                    + " were refused)";
        }
    }

    private static final class AtomicLong extends Worker {
        private final DistributedAtomicLong counter;
        private final Sum sum;

        AtomicLong(Client client, Run run) {
            super("atomic-long", client, run);
            counter = new DistributedAtomicLong(client.curator, "/atomic-long", new RetryNTimes(5, 20));
            sum = run.sums.computeIfAbsent(recipe, any -> new Sum());
        }

        @Override
        void turn() throws Exception {
            doing("increments");
            AtomicValue<Long> value;
            try {
                value = counter.increment();
            } catch (Exception unknown) {
                sum.unknown.incrementAndGet();
                throw unknown;
            }
            (value.succeeded() ? sum.acknowledged : sum.refused).incrementAndGet();
            tally.count("beliefs");
            progress();
            sleep(5, quiet ? 100 : 40);
        }

        @Override
        String leaves() throws Exception {
            client.sync("/atomic-long");
            AtomicValue<Long> value = counter.get();
            return value.succeeded() ? sum.judge(value.postValue()) : "the counter cannot be read";
        }
    }

    private static final class Count extends Worker {
        private final Sum sum;
        private SharedCount count;
        private int losses;

        Count(Client client, Run run) {
            super("shared-count", client, run);
            sum = run.sums.computeIfAbsent(recipe, any -> new Sum());
        }

        /** A count is permanently down at LOST, as Curator's documentation says: another one is started then. */
        @Override
        void turn() throws Exception {
            if (count == null || losses != client.losses()) {
                doing("starts");
                if (count != null) {
                    count.close();
                }
                losses = client.losses();
                count = new SharedCount(client.curator, "/shared-count", 0);
                count.start();
            }
            doing("sets");
            VersionedValue<Integer> seen = count.getVersionedValue();
            boolean set;
            try {
                set = count.trySetCount(seen, seen.getValue() + 1);
            } catch (Exception unknown) {
                sum.unknown.incrementAndGet();
                throw unknown;
            }
            (set ? sum.acknowledged : sum.refused).incrementAndGet();
            tally.count("beliefs");
            if (set) {
                progress();
            }
            sleep(5, quiet ? 100 : 40);
        }

        @Override
        String leaves() throws Exception {
            client.sync("/shared-count");
            byte[] bytes = client.curator.getData().forPath("/shared-count");
            int value = java.nio.ByteBuffer.wrap(bytes).getInt();
            if (count.getCount() != value) {
                return "client " + client.number + " still shows " + count.getCount() + " instead of " + value;
            }
            return sum.judge(value);
        }
    }

    private static final class Value extends Worker {
        private SharedValue value;
        private int losses;
        private int next;

        Value(Client client, Run run) {
            super("shared-value", client, run);
        }

        /** As with a count, another one is started at LOST. */
        @Override
        void turn() throws Exception {
            if (value == null || losses != client.losses()) {
                doing("starts");
                if (value != null) {
                    value.close();
                }
                losses = client.losses();
                value = new SharedValue(client.curator, "/shared-value", "none".getBytes(StandardCharsets.UTF_8));
                value.start();
            }
            doing("sets");
            value.setValue((client.number + "-" + next++).getBytes(StandardCharsets.UTF_8));
            progress();
            sleep(20, 150);
        }

        @Override
        String leaves() throws Exception {
            client.sync("/shared-value");
            String stored = new String(client.curator.getData().forPath("/shared-value"), StandardCharsets.UTF_8);
            String shown = new String(value.getValue(), StandardCharsets.UTF_8);
            return shown.equals(stored) ? null : "client " + client.number + " still shows " + shown + " instead of " + stored;
        }
    }
}
