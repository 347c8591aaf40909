#include "injectors/link/qdisc.h"

#include <linux/gen_stats.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <netlink/attr.h>
#include <netlink/msg.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#include "absl/strings/str_cat.h"

namespace triodrill {
namespace {

constexpr uint64_t kMost32 = std::numeric_limits<uint32_t>::max();
// A tick of the kernel's packet scheduler, in which its older fields count (PSCHED_SHIFT).
constexpr uint64_t kNanosPerTick = 64;

template <typename T>
std::string Bytes(const T& value) {
  return {reinterpret_cast<const char*>(&value), sizeof(value)};
}

std::string Padded(std::string bytes) {
  bytes.resize((bytes.size() + NLA_ALIGNTO - 1) / NLA_ALIGNTO * NLA_ALIGNTO);
  return bytes;
}

std::string Attribute(uint16_t type, std::string_view payload) {
  nlattr header{};
  header.nla_type = type;
  header.nla_len = static_cast<uint16_t>(NLA_HDRLEN + payload.size());
  return Padded(Cat(Bytes(header), payload));
}

// Attributes by their type. A view: of `bytes`.
class Attributes {
 public:
  explicit Attributes(std::string_view bytes) {
    while (bytes.size() >= NLA_HDRLEN) {
      nlattr header;
      std::memcpy(&header, bytes.data(), sizeof(header));
      const size_t size = header.nla_len;
      if (size < NLA_HDRLEN || size > bytes.size()) return;
      const auto type = static_cast<size_t>(header.nla_type & NLA_TYPE_MASK);
      if (type < all_.size()) all_[type] = bytes.substr(NLA_HDRLEN, size - NLA_HDRLEN);
      if (type < all_.size()) given_[type] = true;
      bytes.remove_prefix(std::min(bytes.size(), Padded(std::string(size, 0)).size()));
    }
  }
  bool Has(int type) const { return given_[static_cast<size_t>(type)]; }
  std::string_view Of(int type) const { return all_[static_cast<size_t>(type)]; }
  // False where it is missing or too short; what is longer is a newer kernel's.
  template <typename T>
  bool Read(int type, T* value) const {
    const std::string_view bytes = Of(type);
    if (!Has(type) || bytes.size() < sizeof(T)) return false;
    std::memcpy(value, bytes.data(), sizeof(T));
    return true;
  }

 private:
  std::array<std::string_view, 64> all_{};
  std::array<bool, 64> given_{};
};

// What one direction of a conversion loses in ticks, and one more for rounding.
bool Near(uint64_t a, uint64_t b) { return std::max(a, b) - std::min(a, b) <= 2 * kNanosPerTick; }

}  // namespace

uint32_t ShareOf32Bits(double percent) {
  const double share = std::clamp(percent / 100, 0.0, 1.0);
  return static_cast<uint32_t>(std::llround(share * static_cast<double>(kMost32)));
}

bool Qdisc::IsRoot() const { return parent == TC_H_ROOT; }
bool Qdisc::IsIngress() const { return parent == TC_H_INGRESS; }

std::string Qdisc::Text() const {
  return handle == 0 ? Cat(kind, " (the kernel's own)") : Cat(kind, " ", absl::Hex(handle >> 16), ":");
}

Result<Qdisc> ParseQdisc(nlmsghdr* message) {
  if (nlmsg_datalen(message) < static_cast<int>(sizeof(tcmsg))) {
    return absl::InternalError("parse a qdisc message of the kernel: too short");
  }
  tcmsg header;
  std::memcpy(&header, nlmsg_data(message), sizeof(header));
  const Attributes attributes(std::string_view(static_cast<const char*>(nlmsg_data(message)) + sizeof(header),
                                               static_cast<size_t>(nlmsg_datalen(message)) - sizeof(header)));
  Qdisc qdisc;
  qdisc.ifindex = header.tcm_ifindex;
  qdisc.handle = header.tcm_handle;
  qdisc.parent = header.tcm_parent;
  qdisc.kind = std::string(attributes.Of(TCA_KIND));
  qdisc.kind.resize(std::min(qdisc.kind.size(), qdisc.kind.find('\0')));
  if (qdisc.kind.empty()) return absl::InternalError("parse a qdisc message of the kernel: it names no kind");
  qdisc.options = std::string(attributes.Of(TCA_OPTIONS));
  uint8_t offloaded = 0;
  attributes.Read(TCA_HW_OFFLOAD, &offloaded);
  const Attributes statistics(attributes.Of(TCA_STATS2));
  qdisc.more = offloaded != 0 || attributes.Has(TCA_STAB) || attributes.Has(TCA_INGRESS_BLOCK) ||
               attributes.Has(TCA_EGRESS_BLOCK) || statistics.Has(TCA_STATS_RATE_EST);
  gnet_stats_basic sent{};
  if (statistics.Read(TCA_STATS_BASIC, &sent)) qdisc.packets = sent.packets;
  gnet_stats_queue queue{};
  if (statistics.Read(TCA_STATS_QUEUE, &queue)) qdisc.dropped = queue.drops;
  return qdisc;
}

std::string TokenBucketOptions(const TokenBucket& bucket) {
  tc_tbf_qopt base{};
  base.rate.rate = static_cast<uint32_t>(std::min(bucket.bytes_per_s, kMost32));
  base.rate.linklayer = TC_LINKLAYER_ETHERNET;  // said outright, so that the kernel needs no rate table
  base.limit = bucket.queue_bytes;
  const double nanos = static_cast<double>(bucket.burst_bytes) * 1e9 / static_cast<double>(bucket.bytes_per_s);
  base.buffer = static_cast<uint32_t>(std::min(nanos / kNanosPerTick, static_cast<double>(kMost32)));
  std::string options = Attribute(TCA_TBF_PARMS, Bytes(base));
  if (bucket.bytes_per_s > kMost32) options += Attribute(TCA_TBF_RATE64, Bytes(bucket.bytes_per_s));
  return options + Attribute(TCA_TBF_BURST, Bytes(bucket.burst_bytes));
}

std::string NetemOptions(const Netem& netem) {
  tc_netem_qopt base{};
  base.latency = static_cast<uint32_t>(std::min(netem.delay_ns / kNanosPerTick, kMost32));
  base.jitter = static_cast<uint32_t>(std::min(netem.jitter_ns / kNanosPerTick, kMost32));
  base.limit = netem.packets;
  base.loss = netem.loss;
  std::string options = Padded(Bytes(base));
  if (netem.corrupt != 0) {
    tc_netem_corrupt corrupt{};
    corrupt.probability = netem.corrupt;
    options += Attribute(TCA_NETEM_CORRUPT, Bytes(corrupt));
  }
  options += Attribute(TCA_NETEM_LATENCY64, Bytes(static_cast<int64_t>(netem.delay_ns)));
  return options + Attribute(TCA_NETEM_JITTER64, Bytes(static_cast<int64_t>(netem.jitter_ns)));
}

bool SameTokenBucket(const TokenBucket& asked, std::string_view options) {
  const Attributes attributes(options);
  tc_tbf_qopt base{};
  if (!attributes.Read(TCA_TBF_PARMS, &base)) return false;
  uint64_t rate = base.rate.rate;
  attributes.Read(TCA_TBF_RATE64, &rate);
  const double nanos = static_cast<double>(asked.burst_bytes) * 1e9 / static_cast<double>(asked.bytes_per_s);
  return rate == asked.bytes_per_s && base.limit == asked.queue_bytes && base.peakrate.rate == 0 &&
         Near(static_cast<uint64_t>(nanos), base.buffer * kNanosPerTick);
}

bool SameNetem(const Netem& asked, std::string_view options) {
  tc_netem_qopt base{};
  if (options.size() < sizeof(base)) return false;
  std::memcpy(&base, options.data(), sizeof(base));
  const Attributes attributes(options.substr(sizeof(base)));
  int64_t delay = static_cast<int64_t>(base.latency * kNanosPerTick);
  int64_t jitter = static_cast<int64_t>(base.jitter * kNanosPerTick);
  attributes.Read(TCA_NETEM_LATENCY64, &delay);
  attributes.Read(TCA_NETEM_JITTER64, &jitter);
  tc_netem_corrupt corrupt{};
  attributes.Read(TCA_NETEM_CORRUPT, &corrupt);
  return Near(asked.delay_ns, static_cast<uint64_t>(delay)) && Near(asked.jitter_ns, static_cast<uint64_t>(jitter)) &&
         base.limit == asked.packets && base.loss == asked.loss && corrupt.probability == asked.corrupt &&
         base.duplicate == 0 && base.gap == 0;
}

std::string AsTcIsTold(const Qdisc& qdisc) {
  if (qdisc.kind == "tbf") {
    tc_tbf_qopt base{};
    const Attributes attributes(qdisc.options);
    if (!attributes.Read(TCA_TBF_PARMS, &base)) return "";
    uint64_t rate = base.rate.rate;
    attributes.Read(TCA_TBF_RATE64, &rate);
    const double burst = static_cast<double>(base.buffer * kNanosPerTick) * static_cast<double>(rate) / 1e9;
    return Cat("tbf rate ", rate * 8, "bit burst ", std::llround(burst), "b limit ", base.limit, "b");
  }
  tc_fifo_qopt fifo{};
  if ((qdisc.kind != "pfifo" && qdisc.kind != "bfifo") || qdisc.options.size() < sizeof(fifo)) return "";
  std::memcpy(&fifo, qdisc.options.data(), sizeof(fifo));
  return Cat(qdisc.kind, " limit ", fifo.limit);
}

std::string RootQdiscRequest(int ifindex, uint32_t handle, std::string_view kind, std::string_view options) {
  tcmsg header{};
  header.tcm_ifindex = ifindex;
  header.tcm_parent = TC_H_ROOT;
  header.tcm_handle = handle;
  std::string request = Bytes(header);
  if (kind.empty()) return request;
  request += Attribute(TCA_KIND, Cat(kind, std::string(1, '\0')));
  return options.empty() ? request : request + Attribute(TCA_OPTIONS, options);
}

std::string QdiscDumpRequest(int ifindex, uint32_t parent) {
  tcmsg header{};
  header.tcm_ifindex = ifindex;
  header.tcm_parent = parent;
  return Bytes(header);
}

}  // namespace triodrill
