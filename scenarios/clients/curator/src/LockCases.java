import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.recipes.leader.LeaderLatch;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.InterProcessReadWriteLock;
import org.apache.curator.framework.recipes.locks.InterProcessSemaphoreV2;
import org.apache.curator.framework.recipes.locks.Lease;
import org.apache.zookeeper.data.Stat;

/** Directed cases of locks, semaphores and elections. Each returns what happened. */
final class LockCases extends Scene {
    LockCases(Options options, Ensemble ensemble, Client a, Client b) {
        super(options, ensemble, a, b);
    }

    String mutex(String fate) throws Exception {
        InterProcessMutex first = new InterProcessMutex(a.curator, "/mutex");
        first.acquire();
        first.release();
        next(a, "create", fate);
        boolean acquired = first.acquire(5, TimeUnit.SECONDS);
        if (acquired) {
            Thread.sleep(1_000);
            String held = children(b, "/mutex");
            first.release();
            boolean other = new InterProcessMutex(b.curator, "/mutex").acquire(4, TimeUnit.SECONDS);
            return "acquired; while held: " + held + "; after release another client acquires within 4 s: " + other
                    + (other ? "" : ", because of " + children(b, "/mutex"));
        }
        return "not acquired within 5 s though free: " + children(b, "/mutex");
    }

    /** The create of a mutex is lost, and that of the retry as well, which Curator sends after it has looked for the first one. */
    String mutexTwice(String fate) throws Exception {
        InterProcessMutex first = new InterProcessMutex(a.curator, "/mutex");
        first.acquire();
        first.release();
        next(a, "create", "lost-never");
        Thread again = new Thread(() -> {
            try {
                await(() -> !a.isConnected());
                // Refused until the session is connected again, and Curator looks for the first create's znode by then.
                while (ensemble.command("next-reply " + session(a) + " create " + fate).startsWith("error")) {
                    Thread.sleep(0, 200_000);
                }
            } catch (Exception failure) {
                Journal.note("not armed: " + failure);
            }
        });
        again.start();
        String result;
        try {
            result = "acquire() returned " + first.acquire(8, TimeUnit.SECONDS);
        } catch (Exception failure) {
            result = "acquire() threw " + failure;
        }
        Thread.sleep(1_000);
        result += "; " + children(b, "/mutex");
        boolean other = new InterProcessMutex(b.curator, "/mutex").acquire(4, TimeUnit.SECONDS);
        return result + "; another client acquires within 4 s: " + other;
    }

    String latch(String fate) throws Exception {
        a.curator.create().creatingParentsIfNeeded().forPath("/latch");
        next(a, "create", fate);
        LeaderLatch latch = new LeaderLatch(a.curator, "/latch", "first");
        latch.start();
        boolean leads = latch.await(5, TimeUnit.SECONDS);
        Thread.sleep(1_000);
        String while_ = children(b, "/latch");
        latch.close();
        LeaderLatch other = new LeaderLatch(b.curator, "/latch", "second");
        other.start();
        boolean follows = other.await(4, TimeUnit.SECONDS);
        return "leads: " + leads + "; then " + while_ + "; after close() another leads within 4 s: " + follows
                + (follows ? "" : ", because of " + children(b, "/latch"));
    }

    String semaphore(String fate) throws Exception {
        InterProcessSemaphoreV2 semaphore = new InterProcessSemaphoreV2(a.curator, "/semaphore", 1);
        semaphore.returnLease(semaphore.acquire());
        // The first create of an acquisition is the inner lock's, the second one the lease's.
        next(a, "create", fate);
        boolean got = semaphore.acquire(5, TimeUnit.SECONDS) != null;
        Thread.sleep(1_000);
        return "acquired: " + got + "; then locks " + children(b, "/semaphore/locks") + ", leases " + children(b, "/semaphore/leases");
    }

    String expiredMutex() throws Exception {
        InterProcessMutex mutex = new InterProcessMutex(a.curator, "/mutex");
        mutex.acquire();
        int losses = a.losses();
        ensemble.command("expire " + session(a));
        await(() -> a.losses() > losses);
        boolean still = mutex.isAcquiredInThisProcess();
        InterProcessMutex other = new InterProcessMutex(b.curator, "/mutex");
        boolean both = other.acquire(3, TimeUnit.SECONDS);
        boolean again = mutex.acquire(1, TimeUnit.SECONDS);
        return "after LOST isAcquiredInThisProcess() is " + still + "; another client acquires: " + both
                + "; acquire() of the same thread without release() then returns " + again + ": " + children(b, "/mutex");
    }

    String expiredLatch() throws Exception {
        LeaderLatch latch = new LeaderLatch(a.curator, "/latch", "first");
        latch.start();
        latch.await(5, TimeUnit.SECONDS);
        LeaderLatch other = new LeaderLatch(b.curator, "/latch", "second");
        other.start();
        ensemble.command("expire " + session(a));
        double since = Journal.now();
        double until = 0;
        double both = 0;
        while (Journal.now() < since + 4_000) {
            if (latch.hasLeadership()) {
                until = Journal.now() - since;
                if (other.hasLeadership()) {
                    both = Journal.now() - since;
                }
            }
            Thread.sleep(1);
        }
        return String.format("hasLeadership() was true until %.0f ms after the expiry, both said so until %.0f ms; second: %s; %s",
                until, both, other.hasLeadership(), children(b, "/latch"));
    }

    /** The create is applied and its reply lost, and the session ends before the client is back. */
    String straddledMutex() throws Exception {
        InterProcessMutex mutex = new InterProcessMutex(a.curator, "/mutex");
        mutex.acquire();
        mutex.release();
        String session = session(a);
        next(a, "create", "lost-applied");
        Thread expiring = new Thread(() -> {
            try {
                await(() -> !a.isConnected());
                ensemble.command("expire " + session);
            } catch (Exception failure) {
                Journal.note("not expired: " + failure);
            }
        });
        expiring.start();
        boolean acquired = mutex.acquire(8, TimeUnit.SECONDS);
        String path = Inside.path(mutex);
        Stat stat = path == null ? null : a.stat(path);
        return "acquired: " + acquired + "; znode " + path + (stat == null ? " is not there"
                : String.format(" of session 0x%x", stat.getEphemeralOwner())) + ", the session now is " + session(a) + "; "
                + children(b, "/mutex");
    }

    /**
     * The session ends between the inner lock and the lease: the lease is created in the next session, without the lock. With
     * a second waiter who has the lock, both leases count, and each waits for the other.
     */
    String straddledSemaphore() throws Exception {
        Client c = new Client(2, ensemble, options);
        c.curator.blockUntilConnected();
        InterProcessSemaphoreV2 holder = new InterProcessSemaphoreV2(b.curator, "/semaphore", 1);
        Lease held = holder.acquire();
        InterProcessMutex inner = new InterProcessMutex(c.curator, "/semaphore/locks");
        inner.acquire();
        CountDownLatch any = new CountDownLatch(1);
        acquiring(a, any);
        Thread.sleep(500);
        next(a, "create", "lost-never");
        String session = session(a);
        inner.release();
        await(() -> !a.isConnected());
        ensemble.command("expire " + session);
        await(() -> a.isConnected());
        Thread.sleep(1_000);
        acquiring(c, any);
        Thread.sleep(1_000);
        holder.returnLease(held);
        boolean acquired = any.await(6, TimeUnit.SECONDS);
        String result = "the permit is free, one of two waiters acquires it within 6 s: " + acquired + "; locks "
                + children(b, "/semaphore/locks") + ", leases " + children(b, "/semaphore/leases");
        Thread closing = new Thread(c::close);
        closing.setDaemon(true);
        closing.start();
        return result;
    }

    private static void acquiring(Client client, CountDownLatch acquired) {
        Thread thread = new Thread(() -> {
            try {
                if (new InterProcessSemaphoreV2(client.curator, "/semaphore", 1).acquire(60, TimeUnit.SECONDS) != null) {
                    acquired.countDown();
                }
            } catch (Exception failure) {
                Journal.note("acquire of client " + client.number + " failed: " + failure);
            }
        });
        thread.setDaemon(true);
        thread.start();
    }

    String downgrade() throws Exception {
        InterProcessReadWriteLock first = new InterProcessReadWriteLock(a.curator, "/rw");
        first.writeLock().acquire();
        CountDownLatch granted = new CountDownLatch(1);
        Thread writer = new Thread(() -> {
            try {
                new InterProcessReadWriteLock(b.curator, "/rw").writeLock().acquire();
                granted.countDown();
                Thread.sleep(5_000);
            } catch (Exception failure) {
                Journal.note("" + failure);
            }
        });
        writer.setDaemon(true);
        writer.start();
        Thread.sleep(500);
        first.readLock().acquire();
        first.writeLock().release();
        boolean beside = granted.await(2, TimeUnit.SECONDS);
        return "a writer got the lock beside a reader that was a writer: " + beside + "; " + children(a, "/rw");
    }
}
