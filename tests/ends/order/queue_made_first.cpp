// exits: 0
// says:
// proves: life-11
// The item is destroyed before the queue: this removes its timer, so the queue has no item to wait for.
#include "parts.hpp"

#include <chrono>

int main() { static_queue.queue_after(std::chrono::hours{1}, static_item); }
