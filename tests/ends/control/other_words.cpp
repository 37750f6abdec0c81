// exits: 0
// says: good
#include <cstdio>

int main() { std::puts("not good"); }
