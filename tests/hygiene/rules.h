// The rules of the house, each a pure function from files to findings ("path:line: what"). No finding: the rule is
// kept.
#pragma once

#include <string>
#include <vector>

#include "tests/hygiene/source_tree.h"

namespace triodrill::hygiene {

using Files = std::vector<SourceFile>;
using Findings = std::vector<std::string>;

// include <- injectors, include <- reports <- coordinator; only tests include tests.
Findings WrongIncludes(const Files& files);

// The same for what a folder's targets link.
Findings WrongLinks(const Files& files);

// Programs are run from an argument vector, never by a shell.
Findings ShellStrings(const Files& files);

// Files are not read by the stream's iterators: they throw where a read fails after the opening, as of a directory, a
// failing disk, or a process in /proc that ends.
Findings ReadsThatThrow(const Files& files);

// The C library's functions that keep something between calls: one thread's call changes what another one is told.
Findings SharedByAllThreads(const Files& files);

// Patterns are RE2's, in linear time: the standard's run away on hostile text, and GCC 12 warns of its own header.
Findings BacktrackingPatterns(const Files& files);

// Time and chance are arguments: they are read, and waited for, in the files named in the rule alone.
Findings ClocksAndChance(const Files& files);

// No two types of one namespace have one name: a program that links both mixes them up, and nothing says so.
Findings TypesOfOneName(const Files& files);

// Files <= 400 lines, the root CMakeLists.txt < 150.
Findings LongFiles(const Files& files);

// Functions <= 70 lines, from the line of the opening brace to that of the closing one.
Findings LongFunctions(const Files& files);

// Interfaces <= 4 pure virtual functions.
Findings WideInterfaces(const Files& files);

// Every *_test.cc and *_bench.cc stands in its folder's CMakeLists.txt.
Findings UnregisteredTests(const Files& files);

// No file(GLOB).
Findings Globs(const Files& files);

// Nothing is left for later in the code, nothing is commented out by #if 0.
Findings LeftForLater(const Files& files);

// A drill of the library says in a comment what it is for, and asks a question.
Findings DrillsWithoutWords(const Files& files);

// No path of somebody's machine.
Findings HomePaths(const Files& files);

// What measures and judges has no way to what the reference pipeline itself knows: only drills/ (which writes it),
// tests and documents name the truth channel.
Findings ReadersOfTheTruth(const Files& files);

// Every program that is installed has a manual page in some man/ folder, installed, too.
Findings ProgramsWithoutPage(const Files& files);

// Every top folder says what it is in its README.md.
Findings FoldersWithoutReadme(const Files& files);

// No loop runs over what an accessor shows of a temporary, which is gone before the first turn (until C++23).
Findings LoopsOverTemporaries(const Files& files);

// A document that names a test (`Suite.Name`) names one that is there.
Findings UnknownTests(const Files& files);

}  // namespace triodrill::hygiene
