// exits: 0
// says:
// The item is destroyed first: its timer is removed, and the queue has no item left to wait for.
#include "parts.hpp"

#include <chrono>

int main() { static_queue.queue_after(std::chrono::hours{1}, static_item); }
