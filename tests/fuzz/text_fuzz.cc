// Strings of others as they are shown, and the small texts that are read from kernels and programs.
#include "injectors/gpu/dcgm.h"
#include "injectors/gpu/kernel_log.h"
#include "reports/render/escape.h"
#include "tests/fuzz/fuzz.h"
#include "triodrill/network_prefix.h"
#include "triodrill/schema/units.h"
#include "triodrill/schema/utf8.h"

namespace triodrill {
namespace {

bool IsPlain(std::string_view text) {
  while (!text.empty()) {
    const size_t length = Utf8SequenceLength(text);
    if (length == 0 || (length == 1 && (static_cast<unsigned char>(text[0]) < 0x20 || text[0] == 0x7f))) return false;
    text.remove_prefix(length);
  }
  return true;
}

void ShowsHarmlessly(std::string_view text, size_t limit) {
  const std::string plain = PlainText(text, limit);
  fuzz::Must(IsPlain(plain), "plain text holds what moves a cursor, or is not UTF-8");
  fuzz::Must(plain.size() <= limit + 16, "plain text is longer than its limit");
  const std::string html = HtmlText(text, limit);
  fuzz::Must(IsPlain(html) && html.find_first_of("<>\"'") == std::string::npos, "markup in the text of a page");
  const std::string markdown = MarkdownText(text, limit);
  fuzz::Must(IsPlain(markdown) && markdown.find('<') == std::string::npos, "markup in Markdown");
}

}  // namespace
}  // namespace triodrill

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  triodrill::ShowsHarmlessly(text, 240);
  triodrill::ShowsHarmlessly(text, 3);
  if (const auto record = triodrill::ParseKernelRecord(text); record.ok()) {
    triodrill::fuzz::Must(record->text.find('\n') == std::string::npos, "a line of the kernel's log is two");
  }
  static_cast<void>(triodrill::dcgm::GpuInList(text, "GPU-0"));
  static_cast<void>(triodrill::ParseRatio(text));
  static_cast<void>(triodrill::ParseNetworkPrefix(text));
  return 0;
}
