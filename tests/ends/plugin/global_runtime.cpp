// exits: 0
// says: ran 100, stays, ran 100 again
// proves: life-12
// The threads of the global runtime run the code of the plugin and are never joined. So the plugin stays loaded after
// every dlclose().
#include "plugin.hpp"

#include "nr_tasks.hpp"

int main() {
    void* plugin = load();
    std::printf("ran %d, ", call(plugin, "run_on_global_runtime", 20));
    ::dlclose(plugin);
    std::printf(is_mapped() && cmwq_test::nr_tasks() > 1 ? "stays, " : "has gone, ");
    if (!can_fork()) return 1;
    plugin = load();
    std::printf("ran %d again\n", call(plugin, "run_on_global_runtime", 20));
    ::dlclose(plugin);
}
