// exits: 0
// says: unloaded 300 times
// proves: life-13
//
// A thread calls dump() while another one loads a plugin, runs an item of it, and unloads it.
#include "plugin.hpp"

#include <cmwq/cmwq.hpp>

#include <atomic>
#include <cstdio>
#include <dlfcn.h>
#include <thread>

int main() {
    constexpr int nr_rounds = 300;
    cmwq::runtime rt;
    cmwq::workqueue<> q{rt, "q"};
    std::atomic<bool> stop{false};
    std::thread dumps{[&] {
        while (!stop) static_cast<void>(rt.dump());
    }};
    int nr_unloaded = 0;
    for (int i = 0; i < nr_rounds; ++i) {
        void* const plugin = ::dlopen(CMWQ_TEST_PLUGIN, RTLD_NOW | RTLD_LOCAL);
        if (plugin == nullptr) {
            std::puts(::dlerror());
            break;
        }
        cmwq::work_base* const item = reinterpret_cast<make_item*>(::dlsym(plugin, "make"))();
        q.queue(*item);
        q.flush();
        reinterpret_cast<free_item*>(::dlsym(plugin, "destroy"))(item);
        ::dlclose(plugin);
        nr_unloaded += ::dlopen(CMWQ_TEST_PLUGIN, RTLD_NOLOAD | RTLD_NOW) == nullptr ? 1 : 0;
    }
    stop = true;
    dumps.join();
    std::printf("unloaded %d times\n", nr_unloaded);
}
