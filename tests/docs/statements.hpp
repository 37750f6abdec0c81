// The prelude of a snippet that names no prelude: its lines are in the body of a function.
#include <cmwq/cmwq.hpp>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <vector>

using namespace std::chrono_literals;

[[maybe_unused]] static void snippet() {
    // SNIPPET
}
