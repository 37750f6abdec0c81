// expect: a bottom-half queue
#include <cstdlib>

int main() { std::abort(); }
