// A stand-in for dcgmi and the host engine behind it, for tests: the few commands that are used, in dcgmi's own syntax
// and words. Its state is the folder "dcgm" beside the path it was started by: "gpus" lists a number and a UUID a line,
// "GPU.FIELD" is what was injected and when, "GPU.FIELD.sampled" what the GPU itself would say, "stopped" stands for an
// engine that does not run. As in DCGM the newest value counts, and a sample is taken whenever somebody watches.
#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iomanip>
#include <iostream>
#include <string>
#include <vector>

namespace {

using Words = std::vector<std::string>;

std::filesystem::path state;

// The word after any of these; "" if there is none.
std::string After(const Words& words, const Words& names) {
  for (size_t i = 0; i + 1 < words.size(); ++i) {
    if (std::find(names.begin(), names.end(), words[i]) != names.end()) return words[i + 1];
  }
  return "";
}

bool Has(const Words& words, const std::string& name) {
  return std::find(words.begin(), words.end(), name) != words.end();
}

Words Gpus() {
  std::ifstream file(state / "gpus");
  Words uuids;
  std::string number;
  std::string uuid;
  while (file >> number >> uuid) {
    uuids.resize(std::max<size_t>(uuids.size(), std::stoul(number) + 1));
    uuids[std::stoul(number)] = uuid;
  }
  return uuids;
}

int List() {
  const Words uuids = Gpus();
  const std::string line = "+--------+" + std::string(70, '-') + "+\n";
  const auto row = [](const std::string& first, const std::string& second) {
    std::cout << "| " << std::left << std::setw(6) << first << " | " << std::setw(68) << second << " |\n";
  };
  const auto known = std::count_if(uuids.begin(), uuids.end(), [](const std::string& uuid) { return !uuid.empty(); });
  std::cout << known << (known == 1 ? " GPU" : " GPUs") << " found.\n" << line;
  row("GPU ID", "Device Information");
  std::cout << line;
  for (size_t gpu = 0; gpu < uuids.size(); ++gpu) {
    if (uuids[gpu].empty()) continue;
    row(std::to_string(gpu), "Name: NVIDIA H100 80GB HBM3");
    row("", "PCI Bus ID: 00000000:1" + std::to_string(gpu) + ":00.0");
    row("", "Device UUID: " + uuids[gpu]);
    std::cout << line;
  }
  std::cout << "0 NvSwitches found.\n+-----------+\n| Switch ID |\n+-----------+\n+-----------+\n";
  return 0;
}

bool Known(const std::string& gpu) {
  const Words uuids = Gpus();
  const size_t number = std::strtoul(gpu.c_str(), nullptr, 10);
  return !gpu.empty() && number < uuids.size() && !uuids[number].empty();
}

int Test(const Words& words) {
  const std::string gpu = After(words, {"--gpuid"});
  const std::string field = After(words, {"-f", "--field"});
  const std::string value = After(words, {"-v", "--value"});
  const std::string ahead = After(words, {"--offset"});
  if (!Has(words, "--inject") || field.empty() || value.empty()) {
    std::cerr << "PARSE ERROR: Required argument missing\n";
    return 1;
  }
  if (!Known(gpu)) {
    std::cout << "Error: Unable to inject info. Return: Bad parameter passed to function\n";
    return 255;
  }
  const std::string name = gpu + "." + field;
  const std::filesystem::path aside = state / (name + ".new");
  std::ofstream(aside) << value << ' ' << std::time(nullptr) + std::atol(ahead.c_str()) << '\n';
  std::error_code dropped;  // a folder of that name: an engine that does not keep it
  std::filesystem::rename(aside, state / name, dropped);
  std::cout << "Successfully injected field info.\n";
  return 0;
}

int Monitor(const Words& words) {
  const std::string gpu = After(words, {"-i", "--entity-id"});
  const std::string field = After(words, {"-e", "--field-id"});
  if (!Known(gpu) || field.empty() || After(words, {"-c", "--count"}) != "1") {
    std::cout << "Error: this stand-in shows one field of one GPU once\n";
    return 1;
  }
  std::string shown = "45";
  std::ifstream(state / (gpu + "." + field + ".sampled")) >> shown;
  std::string injected;
  std::time_t dated = 0;
  std::ifstream(state / (gpu + "." + field)) >> injected >> dated;
  if (!injected.empty() && dated > std::time(nullptr)) shown = injected;
  std::cout << "#Entity   FIELD       \nID                    \nGPU " << gpu << "     " << shown << "          \n";
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const Words words(argv + 1, argv + argc);
  state = std::filesystem::path(argv[0]).parent_path() / "dcgm";
  if (std::filesystem::exists(state / "stopped")) {
    std::cout << "Error: unable to establish a connection to the specified host: localhost\n"
                 "Error: Unable to connect to host engine. Host engine connection invalid/disconnected.\n";
    return 255;
  }
  if (words.empty()) return 1;
  if (words[0] == "discovery" && Has(words, "-l")) return List();
  if (words[0] == "test") return Test(words);
  if (words[0] == "dmon") return Monitor(words);
  return 1;
}
