// The prelude of a snippet that names none: its lines stand in a function.
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
