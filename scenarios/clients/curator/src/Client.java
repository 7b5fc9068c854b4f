import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.state.ConnectionState;
import org.apache.curator.retry.RetryNTimes;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.data.Stat;

/** One client of the ensemble. Its connection's state ends the beliefs of its workers. */
final class Client {
    final int number;
    final CuratorFramework curator;
    final boolean endsAtSuspended;
    private final Set<Belief> beliefs = ConcurrentHashMap.newKeySet();
    private volatile ConnectionState state = ConnectionState.LOST;
    private volatile int losses;

    Client(int number, Ensemble ensemble, Options options) {
        this.number = number;
        endsAtSuspended = options.endsAtSuspended;
        curator = CuratorFrameworkFactory.newClient(
                ensemble.hosts, options.sessionMillis, 1_000, new RetryNTimes(5, 100));
        curator.getConnectionStateListenable().addListener((framework, next) -> moved(next));
        curator.start();
    }

    private void moved(ConnectionState next) {
        Journal.note("client " + number + " is " + next + ", session " + sessionText());
        state = next;
        if (next == ConnectionState.LOST) {
            losses++;
        }
        for (Belief belief : beliefs) {
            if (next == ConnectionState.LOST || next == ConnectionState.SUSPENDED && belief.endsAtSuspended()) {
                belief.released("at " + next);
            }
        }
    }

    /** How often Curator has reported LOST. */
    int losses() {
        return losses;
    }

    boolean isConnected() {
        return state.isConnected();
    }

    boolean isLost() {
        return state == ConnectionState.LOST;
    }

    /** The session of Curator's present handle, or 0 without one. */
    long session() {
        try {
            return curator.getZookeeperClient().getZooKeeper().getSessionId();
        } catch (Exception noHandle) {
            return 0;
        }
    }

    private String sessionText() {
        return "0x" + Long.toHexString(session());
    }

    /** Returns the znode's Stat, or null if there is none; a failure of the connection is thrown after Curator's retries. */
    Stat stat(String path) throws Exception {
        return curator.checkExists().forPath(path);
    }

    /** Makes later reads of this client return what was committed before the call. */
    void sync(String path) throws Exception {
        CountDownLatch answered = new CountDownLatch(1);
        int[] code = {KeeperException.Code.CONNECTIONLOSS.intValue()};
        ZooKeeper handle = curator.getZookeeperClient().getZooKeeper();
        handle.sync(path, (result, where, context) -> {
            code[0] = result;
            answered.countDown();
        }, null);
        if (!answered.await(5, TimeUnit.SECONDS) || code[0] != 0) {
            throw KeeperException.create(KeeperException.Code.CONNECTIONLOSS, path);
        }
    }

    void register(Belief belief) {
        beliefs.add(belief);
    }

    void close() {
        curator.close();
    }
}
