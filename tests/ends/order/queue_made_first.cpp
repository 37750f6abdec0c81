// exits: 0
// says:
// The item is destroyed first: its timer is taken away, and the queue has nothing left to wait for.
#include "parts.hpp"

#include <chrono>

int main() { static_queue.queue_after(std::chrono::hours{1}, static_item); }
