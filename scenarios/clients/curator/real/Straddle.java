import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.InterProcessSemaphoreV2;
import org.apache.curator.framework.recipes.locks.Lease;
import org.apache.curator.retry.RetryNTimes;
import org.apache.zookeeper.ZooKeeper;

/** A waiter's session ends between the semaphore's inner lock and its lease, through lose.py: Straddle PORT SERVER_PORT. */
public class Straddle {
    private static CuratorFramework client(String port) throws Exception {
        CuratorFramework client = CuratorFrameworkFactory.newClient("127.0.0.1:" + port, 10_000, 3_000, new RetryNTimes(20, 200));
        client.start();
        client.blockUntilConnected();
        return client;
    }

    private static void acquiring(CuratorFramework client, CountDownLatch acquired) {
        Thread thread = new Thread(() -> {
            try {
                if (new InterProcessSemaphoreV2(client, "/semaphore", 1).acquire(60, TimeUnit.SECONDS) != null) {
                    acquired.countDown();
                }
            } catch (Exception failure) {
                System.out.println("acquire failed: " + failure);
            }
        });
        thread.setDaemon(true);
        thread.start();
    }

    public static void main(String[] arguments) throws Exception {
        CuratorFramework a = client(arguments[0]);
        CuratorFramework b = client(arguments[1]);
        CuratorFramework c = client(arguments[1]);
        InterProcessSemaphoreV2 holder = new InterProcessSemaphoreV2(b, "/semaphore", 1);
        Lease held = holder.acquire();
        InterProcessMutex inner = new InterProcessMutex(c, "/semaphore/locks");
        inner.acquire();
        ZooKeeper handle = a.getZookeeperClient().getZooKeeper();
        long session = handle.getSessionId();
        byte[] password = handle.getSessionPasswd();
        CountDownLatch any = new CountDownLatch(1);
        acquiring(a, any);
        Thread.sleep(500);
        inner.release();
        Thread.sleep(500);
        // The proxy has lost a's create of the lease, and refuses a for two seconds: its session ends meanwhile.
        ZooKeeper same = new ZooKeeper("127.0.0.1:" + arguments[1], 10_000, event -> {}, session, password);
        same.exists("/", false);
        same.close();
        Thread.sleep(5_000);
        acquiring(c, any);
        Thread.sleep(1_000);
        System.out.println("holder has " + held.getNodeName() + ", leases " + b.getChildren().forPath("/semaphore/leases"));
        holder.returnLease(held);
        System.out.println("the permit is free, one of two waiters acquires it within 8 s: " + any.await(8, TimeUnit.SECONDS));
        System.out.println("locks " + b.getChildren().forPath("/semaphore/locks") + ", leases " + b.getChildren().forPath("/semaphore/leases"));
        Runtime.getRuntime().halt(0);
    }
}
