#include "injectors/link/nftables.h"

#include <nftables/libnftables.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "absl/strings/ascii.h"
#include "triodrill/text.h"

namespace triodrill {
namespace {

struct FreeContext {
  void operator()(nft_ctx* context) const { nft_ctx_free(context); }
};

struct Answer {
  bool ok = false;
  std::string out;
  std::string error;  // the library's first line: what follows repeats the command
};

Result<Answer> Ask(const std::string& commands) {
  const std::unique_ptr<nft_ctx, FreeContext> context(nft_ctx_new(NFT_CTX_DEFAULT));
  if (!context || nft_ctx_buffer_output(context.get()) != 0 || nft_ctx_buffer_error(context.get()) != 0) {
    return absl::ResourceExhaustedError("open nftables: out of memory");
  }
  nft_ctx_output_set_flags(context.get(), NFT_CTX_OUTPUT_JSON | NFT_CTX_OUTPUT_HANDLE | NFT_CTX_OUTPUT_NUMERIC_ALL);
  Answer answer;
  answer.ok = nft_run_cmd_from_buffer(context.get(), commands.c_str()) == 0;
  answer.out = nft_ctx_get_output_buffer(context.get());
  answer.error = nft_ctx_get_error_buffer(context.get());
  answer.error.resize(std::min(answer.error.size(), answer.error.find('\n')));
  return answer;
}

Status Refused(const std::string& operation, const std::string& error) {
  const std::string text = Cat(operation, ": ", error);
  if (error.find("not permitted") == std::string::npos) return absl::UnknownError(text);
  return absl::PermissionDeniedError(Cat(text, "; CAP_NET_ADMIN is needed in this network namespace"));
}

}  // namespace

Status RunNftables(const std::string& commands, const std::string& what) {
  TRIODRILL_ASSIGN_OR_RETURN(const Answer answer, Ask(commands));
  return answer.ok ? Ok() : Refused(what, answer.error);
}

Result<std::string> ListNftable(const std::string& table) {
  // That a table is not there is known from the list of all, which does not fail: an error's text decides nothing.
  TRIODRILL_ASSIGN_OR_RETURN(const Answer tables, Ask("list tables inet"));
  if (!tables.ok) return Refused("list nftables' tables", tables.error);
  const auto list = nlohmann::json::parse(tables.out, nullptr, false);
  if (!list.is_object() || !list.contains("nftables")) {
    return absl::InternalError(Cat("list nftables' tables: unexpected form: ", tables.out));
  }
  bool there = false;
  for (const auto& object : list["nftables"]) {
    there = there || (object.contains("table") && object["table"].value("name", "") == table);
  }
  if (!there) return std::string();
  TRIODRILL_ASSIGN_OR_RETURN(Answer answer, Ask(Cat("list table inet ", table)));
  if (!answer.ok) return Refused(Cat("list table inet ", table), answer.error);
  return std::move(answer.out);
}

Status ProbeNftables() {
  TRIODRILL_ASSIGN_OR_RETURN(const Answer answer, Ask("list tables inet"));
  return answer.ok ? Ok() : Refused("list nftables' tables", answer.error);
}

}  // namespace triodrill
