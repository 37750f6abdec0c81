// The prelude of a snippet that declares types and functions: its lines are at namespace scope.
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

// SNIPPET
