import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.retry.RetryNTimes;

/** Acquires a mutex twice through lose.py, and shows what is left: LostTwice PORT SERVER_PORT. */
public class LostTwice {
    public static void main(String[] arguments) throws Exception {
        CuratorFramework direct = CuratorFrameworkFactory.newClient("127.0.0.1:" + arguments[1], 10_000, 3_000, new RetryNTimes(5, 100));
        CuratorFramework client = CuratorFrameworkFactory.newClient("127.0.0.1:" + arguments[0], 10_000, 3_000, new RetryNTimes(5, 100));
        direct.start();
        client.start();
        direct.create().forPath("/mutex");
        InterProcessMutex mutex = new InterProcessMutex(client, "/mutex");
        mutex.acquire();
        mutex.release();
        try {
            System.out.println("acquire() returned " + mutex.acquire(8, TimeUnit.SECONDS));
        } catch (Exception failure) {
            System.out.println("acquire() threw " + failure);
        }
        Thread.sleep(1_000);
        System.out.println("children " + direct.getChildren().forPath("/mutex"));
        System.out.println("another client acquires within 4 s: " + new InterProcessMutex(direct, "/mutex").acquire(4, TimeUnit.SECONDS));
        Runtime.getRuntime().halt(0);
    }
}
