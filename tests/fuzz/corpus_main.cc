// Runs a fuzz target without libFuzzer: on the files below the directories that are named, and on some thousands of
// inputs made from them by chance, from a fixed seed.
//   NAME_fuzz [--made N] FILE-OR-DIRECTORY...
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

#include "tests/fuzz/fuzz.h"

namespace {

namespace fs = std::filesystem;

constexpr size_t kLongest = 64 << 10;

std::string Slurp(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return std::move(text).str();
}

std::vector<std::string> Seeds(const std::vector<std::string>& names) {
  std::vector<fs::path> paths;
  for (const std::string& name : names) {
    if (!fs::is_directory(name)) paths.emplace_back(name);
    if (!fs::is_directory(name)) continue;
    for (const auto& entry : fs::recursive_directory_iterator(name)) {
      if (entry.is_regular_file()) paths.push_back(entry.path());
    }
  }
  std::sort(paths.begin(), paths.end());
  std::vector<std::string> seeds;
  for (const fs::path& path : paths) seeds.push_back(Slurp(path).substr(0, kLongest));
  return seeds;
}

class Maker {
 public:
  explicit Maker(const std::vector<std::string>& seeds) : seeds_(seeds) {}

  std::string Make() {
    std::string made = seeds_[Below(seeds_.size())];
    for (size_t changes = 1 + Below(6); changes > 0; --changes) Change(made);
    return made.substr(0, kLongest);
  }

 private:
  size_t Below(size_t bound) { return bound == 0 ? 0 : chance_() % bound; }
  void Change(std::string& text) {
    const size_t at = Below(text.size() + 1);
    const size_t length = Below(std::min<size_t>(text.size() - at, 64) + 1);
    switch (Below(6)) {
      case 0:
        if (at < text.size()) text[at] = static_cast<char>(chance_());
        return;
      case 1:
        text.erase(at, length);
        return;
      case 2:
        text.insert(at, text.substr(at, length));
        return;
      case 3:
        text.resize(at);
        return;
      case 4: {
        const std::string& other = seeds_[Below(seeds_.size())];
        text.insert(at, other.substr(Below(other.size() + 1), length));
        return;
      }
      default: {
        static constexpr const char* kWords[] = {
            "\n",   "\t", "\"", "{",  "}",    "-1",    "1e309", "18446744073709551616",
            "null", "*a", "&a", "!!", "\xff", "\x1b[", "<",     "../"};
        text.insert(at, kWords[Below(std::size(kWords))]);
      }
    }
  }

  const std::vector<std::string>& seeds_;
  std::mt19937 chance_{20261130};
};

void Run(const std::string& input) {
  LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(input.data()), input.size());
}

}  // namespace

int main(int argc, char** argv) {
  size_t made = 0;
  std::vector<std::string> names;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--made") == 0 && i + 1 < argc) {
      made = std::strtoull(argv[++i], nullptr, 10);
    } else {
      names.emplace_back(argv[i]);
    }
  }
  const std::vector<std::string> seeds = Seeds(names);
  triodrill::fuzz::Must(!seeds.empty(), "no saved input: name a file or a directory");
  for (const std::string& seed : seeds) Run(seed);
  Maker maker(seeds);
  for (size_t i = 0; i < made; ++i) Run(maker.Make());
  std::printf("%zu saved inputs, %zu made from them: all went well\n", seeds.size(), made);
  return 0;
}
