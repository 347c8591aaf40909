// triodrill-gpu-exporter and triodrill-gpu-state, as processes: what is published is read by a real GET.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <re2/re2.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <map>

#include "drills/shadow/owned_fd.h"
#include "httplib.h"
#include "tests/unit/shadow_gpu/gpu_dir.h"

namespace triodrill::shadow::gpu {
namespace {

// A program of ours with its standard output in a pipe; ended with the test.
class Program {
 public:
  explicit Program(std::vector<std::string> words) {
    int ends[2];
    EXPECT_EQ(pipe2(ends, O_CLOEXEC), 0);
    out_.Reset(ends[0]);
    const OwnedFd theirs(ends[1]);
    words[0] = TRIODRILL_BIN_DIR "/" + words[0];
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    pid_ = fork();
    if (pid_ != 0) return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    dup2(theirs.get(), STDOUT_FILENO);
    execv(argv[0], argv.data());
    _exit(127);
  }
  ~Program() {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  std::string Line() {
    std::string line;
    for (char letter = 0; read(out_.get(), &letter, 1) == 1 && letter != '\n';) line += letter;
    return line;
  }
  std::string Rest() {
    std::string text;
    char bytes[4096];
    for (ssize_t got; (got = read(out_.get(), bytes, sizeof bytes)) > 0;) text.append(bytes, static_cast<size_t>(got));
    return text;
  }
  int Code() {
    int status = 0;
    EXPECT_EQ(waitpid(pid_, &status, 0), pid_);
    pid_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }
  void Signal(int number) const { kill(pid_, number); }

 private:
  pid_t pid_ = -1;
  OwnedFd out_;
};

int PortOf(Program& exporter) {
  int port = 0;
  const std::string line = exporter.Line();
  EXPECT_TRUE(RE2::FullMatch(line, "listening on 127\\.0\\.0\\.1:(\\d+)", &port)) << line;
  return port;
}

struct Scraped {
  std::map<std::string, double> values;  // by NAME/GPU
  std::map<std::string, std::string> labels;
};

Scraped Scrape(int port) {
  Scraped scraped;
  httplib::Client client("127.0.0.1", port);
  const httplib::Result result = client.Get("/metrics");
  EXPECT_TRUE(result) << to_string(result.error());
  if (!result) return scraped;
  EXPECT_EQ(result->status, 200);
  EXPECT_EQ(result->get_header_value("Content-Type"), "text/plain; version=0.0.4; charset=utf-8");
  re2::StringPiece rest(result->body);
  std::string name;
  std::string labels;
  std::string gpu;
  double value = 0;
  const RE2 comment("# (HELP .+|TYPE \\w+ (gauge|counter))\n");
  const RE2 sample("(\\w+)\\{gpu=\"(\\d+)\",(.+)\\} (\\S+)\n");
  while (RE2::Consume(&rest, comment) || RE2::Consume(&rest, sample, &name, &gpu, &labels, &value)) {
    if (name.empty()) continue;
    EXPECT_TRUE(scraped.values.emplace(name + "/" + gpu, value).second) << name << " twice";
    scraped.labels[gpu] = labels;
    name.clear();
  }
  EXPECT_TRUE(rest.empty()) << "not understood from here on: " << rest;
  return scraped;
}

TEST(GpuExporter, PublishesTheStateUnderDcgmsNames) {
  const GpuDir gpus;
  Program exporter({"triodrill-gpu-exporter", "--state", gpus.file(), "--listen", "127.0.0.1:0", "--hostname", "n0"});
  const int port = PortOf(exporter);
  ASSERT_GT(port, 0);
  Scraped now = Scrape(port);
  EXPECT_EQ(now.values.size(), 40U);
  EXPECT_EQ(now.values["DCGM_FI_DEV_SM_CLOCK/1"], 1980);
  EXPECT_EQ(now.values["DCGM_FI_DEV_POWER_USAGE/1"], 650);
  EXPECT_EQ(now.values["DCGM_FI_DEV_CLOCK_THROTTLE_REASONS/1"], 0);
  EXPECT_TRUE(RE2::FullMatch(now.labels["1"],
                             "UUID=\"GPU-[0-9a-f-]{36}\",pci_bus_id=\"00000000:11:00.0\",device=\"nvidia1\","
                             "modelName=\"Shadow H100 80GB \\(simulated\\)\",Hostname=\"n0\",simulated=\"true\""))
      << now.labels["1"];

  for (const char* const change : {"temperature=95", "xid=94", "ecc_sbe+=4", "ecc_dbe+=1", "rows_correctable=2",
                                   "row_remap_pending=1", "nvlink_crc_flit=7", "nvlink_replay=5"}) {
    gpus.Set(1, change);
  }
  now = Scrape(port);
  EXPECT_EQ(now.values["DCGM_FI_DEV_SM_CLOCK/1"], 990);
  EXPECT_EQ(now.values["DCGM_FI_DEV_SM_CLOCK/0"], 1980);
  EXPECT_EQ(now.values["DCGM_FI_DEV_GPU_TEMP/1"], 95);
  EXPECT_EQ(now.values["DCGM_FI_DEV_CLOCK_THROTTLE_REASONS/1"], 0x48);
  EXPECT_EQ(now.values["DCGM_FI_DEV_XID_ERRORS/1"], 94);
  EXPECT_EQ(now.values["DCGM_FI_DEV_ECC_SBE_VOL_TOTAL/1"], 4);
  EXPECT_EQ(now.values["DCGM_FI_DEV_ECC_DBE_VOL_TOTAL/1"], 1);
  EXPECT_EQ(now.values["DCGM_FI_DEV_CORRECTABLE_REMAPPED_ROWS/1"], 2);
  EXPECT_EQ(now.values["DCGM_FI_DEV_ROW_REMAP_PENDING/1"], 1);
  EXPECT_EQ(now.values["DCGM_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL/1"], 7);
  EXPECT_EQ(now.values["DCGM_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_TOTAL/1"], 5);

  gpus.Set(1, "lost=1");
  now = Scrape(port);
  EXPECT_EQ(now.values.size(), 21U) << "a lost GPU has its XID left";
  EXPECT_EQ(now.values["DCGM_FI_DEV_XID_ERRORS/1"], 79);
}

TEST(GpuExporter, HasItsPortForItselfAndEndsWhenTold) {
  const GpuDir gpus;
  Program exporter({"triodrill-gpu-exporter", "--state", gpus.file(), "--listen", "127.0.0.1:0"});
  const int port = PortOf(exporter);
  Program second({"triodrill-gpu-exporter", "--state", gpus.file(), "--listen", Cat("127.0.0.1:", port)});
  EXPECT_EQ(second.Code(), 69);
  exporter.Signal(SIGTERM);
  EXPECT_EQ(exporter.Code(), -SIGTERM);
}

TEST(GpuExporter, RefusesOtherAddressesAndTornFiles) {
  const GpuDir gpus;
  for (const char* const listen : {"0.0.0.0:9400", "10.0.0.1:9400", "127.0.0.1", "127.0.0.1:70000", "localhost:1"}) {
    EXPECT_EQ(Program({"triodrill-gpu-exporter", "--state", gpus.file(), "--listen", listen}).Code(), 64) << listen;
  }
  std::filesystem::resize_file(gpus.file(), 100);
  EXPECT_EQ(Program({"triodrill-gpu-exporter", "--state", gpus.file(), "--listen", "127.0.0.1:0"}).Code(), 65);
}

TEST(GpuStateProgram, MakesShowsAndSets) {
  const GpuDir gpus;
  const std::string file = gpus.dir() + "/made.state";
  EXPECT_EQ(Program({"triodrill-gpu-state", "make", file, "--gpus", "3", "--seed", "5", "--node", "n4"}).Code(), 0);
  EXPECT_EQ(Program({"triodrill-gpu-state", "make", file, "--gpus", "3"}).Code(), 70);
  EXPECT_EQ(Program({"triodrill-gpu-state", "set", file, "--gpu", "2", "xid=119", "ecc_dbe+=2"}).Code(), 0);
  EXPECT_EQ(Program({"triodrill-gpu-state", "set", file, "--gpu", "3", "xid=119"}).Code(), 64);
  EXPECT_EQ(Program({"triodrill-gpu-state", "show", gpus.dir() + "/none"}).Code(), 65);
  Program show({"triodrill-gpu-state", "show", file, "--json"});
  const std::string text = show.Rest();
  EXPECT_EQ(show.Code(), 0);
  EXPECT_NE(text.find("\"simulated\": true"), std::string::npos);
  EXPECT_NE(text.find("\"last\": 119"), std::string::npos) << text;
  EXPECT_NE(text.find("\"dbe_volatile\": 2"), std::string::npos) << text;
}

}  // namespace
}  // namespace triodrill::shadow::gpu
