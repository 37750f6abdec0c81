// expect: no compiler ever says this sentence
int main() { return nothing_of_that_name; }
