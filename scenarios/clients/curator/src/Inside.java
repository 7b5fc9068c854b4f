import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.curator.framework.recipes.leader.LeaderLatch;
import org.apache.curator.framework.recipes.leader.LeaderSelector;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.InterProcessSemaphoreMutex;
import org.apache.curator.framework.recipes.locks.Lease;

/** The znodes behind Curator's recipes. No version tells all of them by its public interface. */
final class Inside {
    private Inside() {}

    /** The znode by which this thread holds the mutex, or null. */
    static String path(InterProcessMutex mutex) throws ReflectiveOperationException {
        Method method = InterProcessMutex.class.getDeclaredMethod("getLockPath");
        method.setAccessible(true);
        return (String) method.invoke(mutex);
    }

    static String path(InterProcessSemaphoreMutex mutex, String parent) throws ReflectiveOperationException {
        Lease lease = (Lease) field(mutex, "lease");
        return lease == null ? null : path(lease, parent);
    }

    static String path(Lease lease, String parent) {
        return parent + "/leases/" + lease.getNodeName();
    }

    static String path(LeaderLatch latch) throws ReflectiveOperationException {
        return (String) ((AtomicReference<?>) field(latch, "ourPath")).get();
    }

    /** The znode by which this thread leads, or null. */
    static String path(LeaderSelector selector) throws ReflectiveOperationException {
        return path((InterProcessMutex) field(selector, "mutex"));
    }

    private static Object field(Object object, String name) throws ReflectiveOperationException {
        Field field = object.getClass().getDeclaredField(name);
        field.setAccessible(true);
        return field.get(object);
    }
}
