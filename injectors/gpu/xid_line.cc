#include "injectors/gpu/xid_line.h"

#include <array>

#include "absl/strings/ascii.h"
#include "absl/strings/str_format.h"
#include "triodrill/text.h"

namespace triodrill {
namespace {

struct Words {
  int xid;
  std::string_view text;
};

// As public logs show them. Readers go by the number; of a number that is not here the line has no words.
constexpr std::array kWords = {
    Words{13, "Graphics SM Warp Exception on (GPC 0, TPC 0, SM 0): Out Of Range Address"},
    Words{31, "Ch 00000008, intr 00000000. MMU Fault: ENGINE GRAPHICS GPCCLIENT_T1_0 faulted @ 0x7f00_00000000."},
    Words{43, "Ch 00000008"},
    Words{45, "Ch 00000008"},
    Words{48, "An uncorrectable double bit error (DBE) has been detected on GPU in the framebuffer."},
    Words{63, "Row Remapper: New row marked for remapping, reset gpu to activate."},
    Words{64, "Row Remapper: Failed to remap a row."},
    Words{74, "NVLink: fatal error detected on link 0(0x10000, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0)"},
    Words{79, "GPU has fallen off the bus."},
    Words{94, "Contained ECC error."},
    Words{95, "Uncontained ECC error."},
    Words{119, "Timeout after 45s of waiting for RPC response from GPU0 GSP! Expected function 76 (GSP_RM_CONTROL)."},
    Words{154, "GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)"},
};

std::string Plain(std::string_view name) {
  std::string plain(name);
  for (char& c : plain) {
    if (!absl::ascii_isalnum(static_cast<unsigned char>(c)) && c != '-' && c != '_' && c != '.') c = '_';
  }
  return plain.empty() ? "_" : plain;
}

}  // namespace

std::string XidLine(const nvml::PciInfo& where, int xid, int pid, std::string_view process) {
  std::string line = absl::StrFormat("NVRM: Xid (PCI:%04x:%02x:%02x): %d, pid=%d, name=%s", where.domain, where.bus,
                                     where.device, xid, pid, Plain(process));
  for (const Words& words : kWords) {
    if (words.xid == xid) Append(line, ", ", words.text);
  }
  return line;
}

}  // namespace triodrill
