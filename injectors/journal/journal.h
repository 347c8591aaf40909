// The faults this node still owes an undo for, one file each. Owned by the agent (or by triodrill-undo, never both: the
// directory is locked), used on one thread.
// A record on disk is a promise to revert: there before the effect, gone only once the effect was seen gone. A crash
// leaves either no record and no effect, or a record; replay settles the rest.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "triodrill/injector.h"
#include "triodrill/status.h"
#include "triodrill/time.h"
#include "triodrill/v1/undo.pb.h"

namespace triodrill {

struct FileCalls;

class UndoJournal {
 public:
  // Takes the lock on `directory` (made with mode 0700 if missing; its parent must exist). Fails with Unavailable if
  // somebody else holds it. `calls` is for tests.
  static Result<std::unique_ptr<UndoJournal>> Open(const std::string& directory);
  static Result<std::unique_ptr<UndoJournal>> Open(const std::string& directory, const FileCalls& calls);
  // The same, waiting for whoever holds the lock. For the guardian: the holder is an agent that is about to be gone.
  static Result<std::unique_ptr<UndoJournal>> OpenWaiting(const std::string& directory);
  virtual ~UndoJournal() = default;

  // Durable when it returns ok: written aside, fsync, rename, fsync of the directory. Refuses a second open record for
  // the same resource or shot, and everything while a record of the directory cannot be read. After an error of fsync
  // nothing more is recorded until the journal is opened anew. After any error: do not Apply.
  virtual Status Record(const v1::UndoRecord& record) = 0;

  // Unlinks and fsyncs the directory. Call it only once nothing is owed (settle.h). NotFound if there is no such
  // record.
  virtual Status Discharge(const std::string& shot) = 0;

  // Leaves a trace of a record whose undo was seen, durable when it returns ok; to be called before the Discharge, so
  // that a crash in between leaves both, and the record counts. The oldest traces beyond kMostTraces go.
  virtual Status Trace(const v1::Discharged& trace) = 0;

  // Every record of the directory, also those that cannot be read (torn, altered, of another format), by file name.
  struct Entry {
    std::string file;
    Result<v1::UndoRecord> record;
  };
  virtual std::vector<Entry> List() const = 0;
};

// The records of a directory without its lock: for looking while an agent runs. Some may be gone by the time you look.
Result<std::vector<UndoJournal::Entry>> ReadJournal(const std::string& directory);

inline constexpr size_t kMostTraces = 64;

// The traces of a directory, newest first, without those of records that are still open; what cannot be read is left
// out. For saying what is known, never for arming.
Result<std::vector<v1::Discharged>> ReadTraces(const std::string& directory);

// What became of one record in a replay.
struct ReplayOutcome {
  std::string file;
  v1::UndoRecord record;  // empty if it could not be read
  bool confirmed = false;
  bool foreign = false;
  std::string evidence;  // what was seen at last
  std::string problem;   // "" if confirmed
};

struct ReplayMeans {
  std::function<std::unique_ptr<Injector>(std::string_view kind)> make;  // null for a kind that it does not know
  Clock& clock;
  std::string boot_id;
};

// Reverts, inspects, traces and discharges every record; never stops at the first failure.
std::vector<ReplayOutcome> ReplayWith(UndoJournal& journal, const ReplayMeans& means);
// With the injectors of the catalogue. In injectors/journal/replay.cc (triodrill::replay), for it knows them.
std::vector<ReplayOutcome> Replay(UndoJournal& journal);

}  // namespace triodrill
