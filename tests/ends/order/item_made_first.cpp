// exits: 0
// says: runs
// proves: life-11
// The queue is destroyed before the item: its destructor drains it and brings the timer forward.
#include "parts.hpp"

#include <chrono>

int main() { static_queue.queue_after(std::chrono::hours{1}, static_item); }
