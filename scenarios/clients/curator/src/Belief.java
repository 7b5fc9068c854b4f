import java.io.IOException;
import java.util.List;
import org.apache.zookeeper.data.Stat;

/**
 * What one thread of control believes to hold. The ensemble's properties and our own checker are told when it begins and
 * when it ends; each beginning has one end, whichever of the thread and the connection's listener ends it.
 */
final class Belief {
    private final Client client;
    private final String observer;
    private final boolean ofLeader;
    private final Ensemble ensemble;
    private final Checker checker;
    private List<String> keys;
    private Checker.Hold hold;

    Belief(Client client, String worker, boolean ofLeader, Ensemble ensemble, Checker checker) {
        this.client = client;
        this.observer = "client " + client.number + "/" + worker;
        this.ofLeader = ofLeader;
        this.ensemble = ensemble;
        this.checker = checker;
        client.register(this);
    }

    boolean endsAtSuspended() {
        return ofLeader || client.endsAtSuspended;
    }

    /**
     * Begins. `keys` are what `never-two-at-once` judges, `key`, `mode` and `limit` what our checker judges. Returns false,
     * and says nothing, if the connection's state already forbids to believe it.
     */
    synchronized boolean granted(List<String> keys, String key, String mode, int limit, Stat stat) throws IOException {
        if (client.isLost() || endsAtSuspended() && !client.isConnected()) {
            return false;
        }
        this.keys = keys;
        for (String each : keys) {
            ensemble.observe(observation(begins(), each, stat.getEphemeralOwner(), stat.getCzxid()));
        }
        hold = checker.granted(observer, key, mode, limit, stat.getEphemeralOwner(), stat.getCzxid());
        return true;
    }

    synchronized boolean holds() {
        return hold != null;
    }

    /** Ends, if it had begun. */
    synchronized void released(String why) {
        if (hold == null) {
            return;
        }
        checker.released(hold, why);
        try {
            for (String each : keys) {
                ensemble.observe(observation(ofLeader ? "stands-down" : "released", each, hold.session, hold.token));
            }
        } catch (IOException unheard) {
            Journal.note("not heard: released " + hold + ": " + unheard);
        }
        hold = null;
    }

    /** Leaders have a word of their own, because one that was suspended can lead again with the same token. */
    private String begins() {
        return ofLeader ? "leads" : "granted";
    }

    private String observation(String says, String key, long session, long token) {
        // A belief has the session that it was granted with; its end is said of whatever session.
        String with = says.equals(begins()) ? String.format("\"session\": \"0x%x\", ", session) : "";
        return String.format("{\"observer\": \"%s\", %s\"says\": \"%s\", \"fields\": {\"lock\": \"%s\", \"token\": %d}}",
                observer, with, says, key, token);
    }
}
