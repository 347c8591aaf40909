#include "injectors/storage/pass_through.h"

#include <fcntl.h>

#include <array>

#include "absl/cleanup/cleanup.h"
#include "injectors/storage/pass_through_ops.h"
#include "triodrill/text.h"

namespace triodrill {
namespace {

// More operations than this at once wait for a thread; no job has so many of a directory under way.
constexpr unsigned int kThreads = 128;

void Init(void* overlay, fuse_conn_info* connection) {
  // The kernel is to drop set-user-id bits by itself: root's writes below would not.
  connection->want &= ~static_cast<unsigned>(FUSE_CAP_HANDLE_KILLPRIV);
  static_cast<PassThrough*>(overlay)->started();
}

}  // namespace

Status ServePassThrough(UniqueFd below, int device, Gate& gate, std::function<void()> started) {
  UniqueFd own_files(::open("/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!own_files.valid()) return ErrnoStatus("open", "/proc/self/fd");
  PassThrough overlay{.nodes = NodeTable(std::move(below)),
                      .gate = gate,
                      .own_files = std::move(own_files),
                      .started = std::move(started)};
  fuse_lowlevel_ops operations{};
  operations.init = &Init;
  AddNameOperations(&operations);
  AddFileOperations(&operations);
  std::string name(kOverlayProgram);
  std::array<char*, 2> arguments = {name.data(), nullptr};
  fuse_args with = FUSE_ARGS_INIT(1, arguments.data());
  fuse_session* const session = ::fuse_session_new(&with, &operations, sizeof(operations), &overlay);
  if (session == nullptr) return absl::InternalError("begin a session of libfuse: it says why on standard error");
  const absl::Cleanup end = [&] { ::fuse_session_destroy(session); };
  // The mount was made by us, and libfuse takes what it is served from by this name; it closes it, too.
  if (::fuse_session_mount(session, Cat("/dev/fd/", device).c_str()) != 0) {
    return absl::InternalError("give the mount to libfuse: it says why on standard error");
  }
  fuse_loop_config* const loop = ::fuse_loop_cfg_create();
  const absl::Cleanup free_loop = [&] { ::fuse_loop_cfg_destroy(loop); };
  ::fuse_loop_cfg_set_max_threads(loop, kThreads);
  const int ended = ::fuse_session_loop_mt(session, loop);
  if (ended == 0) return Ok();
  errno = ended < 0 ? -ended : EIO;
  return ErrnoStatus("serve", "the mount");
}

}  // namespace triodrill
