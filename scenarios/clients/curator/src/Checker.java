import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * A second opinion about beliefs: it knows only this process's clock and the servers' logs. A pair of holders that must
 * not be is excused if the session of one of them was over when the later one was granted: it has not learned of it yet.
 */
final class Checker {
    static final class Hold {
        final String observer;
        final String key;
        final String mode;
        final long session;
        final long token;
        final double since = Journal.now();

        Hold(String observer, String key, String mode, long session, long token) {
            this.observer = observer;
            this.key = key;
            this.mode = mode;
            this.session = session;
            this.token = token;
        }

        @Override
        public String toString() {
            return String.format("%s %s of %s since %.1f (token 0x%x, session 0x%x)", observer, mode, key, since, token, session);
        }
    }

    private final Ensemble ensemble;
    private final Tallies tallies;
    private final Map<String, List<Hold>> held = new HashMap<>();
    private final Map<String, Hold> latest = new HashMap<>();

    Checker(Ensemble ensemble, Tallies tallies) {
        this.ensemble = ensemble;
        this.tallies = tallies;
    }

    /** `mode` is "shared" or "alone"; at most `limit` holders who share. */
    Hold granted(String observer, String key, String mode, int limit, long session, long token) throws IOException {
        Tally tally = tallies.of(recipe(observer));
        tally.count("beliefs");
        Hold hold = new Hold(observer, key, mode, session, token);
        Journal.note("granted: " + hold);
        List<Hold> others;
        Hold last;
        synchronized (this) {
            List<Hold> holds = held.computeIfAbsent(key, any -> new ArrayList<>());
            others = new ArrayList<>(holds);
            last = mode.equals("alone") ? latest.put(key, hold) : null;
            holds.add(hold);
        }
        // The servers are asked without the lock, so that the others go on.
        List<Hold> sharing = new ArrayList<>();
        for (Hold other : others) {
            if (!mode.equals("shared") || !other.mode.equals("shared")) {
                judge(tally, other, hold);
            } else if (limit < Integer.MAX_VALUE && !ensemble.isOver(other.session)) {
                sharing.add(other);
            }
        }
        if (sharing.size() >= limit && !ensemble.isOver(session)) {
            tally.broken("more than " + limit + " at once", sharing + ", then " + hold);
        }
        // A leader that was suspended can lead again by the znode that it had.
        boolean again = last != null && last.token == token && last.observer.equals(observer);
        if (last != null && last.token >= token && !again && !ensemble.isOver(session)) {
            tally.broken("token does not grow", last + " was before " + hold);
        }
        return hold;
    }

    private void judge(Tally tally, Hold earlier, Hold later) throws IOException {
        if (ensemble.isOver(earlier.session)) {
            tally.count("excused overlaps");
            Journal.note("excused: the session of " + earlier + " is over, granted is " + later);
        } else if (ensemble.isOver(later.session)) {
            tally.count("excused overlaps, the later one's session was over");
            Journal.note("excused: the session of " + later + " is over, held by " + earlier);
        } else {
            tally.broken("two at once", earlier + ", then " + later);
        }
    }

    synchronized void released(Hold hold, String why) {
        Journal.note("released " + why + ": " + hold);
        held.get(hold.key).remove(hold);
    }

    private static String recipe(String observer) {
        return observer.substring(observer.indexOf('/') + 1);
    }
}
