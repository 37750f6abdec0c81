// exits: 0
// says: ran 600, unloaded 5 times, no thread left
// proves: life-12
// A plugin can be unloaded and loaded again if its runtimes are destroyed before it is unloaded or by the unloading.
#include "plugin.hpp"

#include "nr_tasks.hpp"

int main() {
    int ran = 0, unloaded = 0;
    for (int i = 0; i < 5; ++i) {
        void* const plugin = load();
        ran += call(plugin, "run_on_own_runtime", 20) + call(plugin, "run_on_static_runtime", 20);
        ::dlclose(plugin);
        unloaded += is_mapped() ? 0 : 1;
        if (!can_fork()) return 1; // the unloading has removed the plugin's fork handlers
    }
    std::printf("ran %d, unloaded %d times, %s\n", ran, unloaded,
                cmwq_test::nr_tasks() == 1 ? "no thread left" : "threads left");
}
