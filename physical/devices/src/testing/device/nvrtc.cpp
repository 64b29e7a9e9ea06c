// The run-time compiler of an emulated device: it compiles a unit to a library of the host, whose
// bytes in hexadecimal are the PTX.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <unistd.h>

enum { DONE = 0, INVALID_INPUT = 3, INVALID_PROGRAM = 4, COMPILATION = 6 };

struct program {
    std::string text, log, ptx;
};

static std::string contents(const std::string &path) {
    std::ifstream file(path, std::ios::binary);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
}

static int copy(const std::string &from, char *to) {
    std::memcpy(to, from.c_str(), from.size() + 1);
    return DONE;
}

extern "C" {

int nvrtcVersion(int *major, int *minor) {
    *major = 0;
    *minor = EMULATED_VERSION;
    return DONE;
}

int nvrtcCreateProgram(program **made, const char *text, const char *, int headers, const char *const *,
                       const char *const *) {
    if (headers != 0) return INVALID_INPUT;
    *made = new program{text, "", ""};
    return DONE;
}

int nvrtcDestroyProgram(program **of) {
    if (!*of) return INVALID_PROGRAM;
    delete *of;
    *of = nullptr;
    return DONE;
}

int nvrtcCompileProgram(program *of, int, const char *const *) {
    std::string folder = EMULATED_FOLDER "/unit-XXXXXX";
    if (!mkdtemp(&folder[0])) return COMPILATION;
    std::ofstream(folder + "/unit.cpp") << of->text;
    const std::string command = EMULATED_COMPILER " -include '" EMULATED_FOLDER "/block.h' -o '" + folder + "/unit.so' '" +
                                folder + "/unit.cpp' 2> '" + folder + "/log'";
    const int status = std::system(command.c_str());
    of->log = contents(folder + "/log");
    const std::string library = contents(folder + "/unit.so");
    std::filesystem::remove_all(folder);
    if (status != 0) return COMPILATION;
    for (const unsigned char byte : library) {
        of->ptx += "0123456789abcdef"[byte >> 4];
        of->ptx += "0123456789abcdef"[byte & 15];
    }
    return DONE;
}

int nvrtcGetPTXSize(program *of, size_t *size) {
    *size = of->ptx.size() + 1;
    return DONE;
}

int nvrtcGetPTX(program *of, char *ptx) {
    return copy(of->ptx, ptx);
}

int nvrtcGetProgramLogSize(program *of, size_t *size) {
    *size = of->log.size() + 1;
    return DONE;
}

int nvrtcGetProgramLog(program *of, char *log) {
    return copy(of->log, log);
}

const char *nvrtcGetErrorString(int) {
    return "the emulated compiler failed";
}
}
