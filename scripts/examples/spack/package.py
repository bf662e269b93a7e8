# SPDX-License-Identifier: MIT
# For a Spack repository: packages/mpiio-viewfs/package.py, with the address of your copy of the sources.
from spack.package import *


class MpiioViewfs(MesonPackage):
    """Mounts MPI file views: each rank's part of a shared file is one contiguous file."""

    homepage = "https://example.org/mpiio-viewfs"
    git = "https://example.org/mpiio-viewfs.git"

    license("MIT")

    version("main", branch="main")
    version("1.0.0", tag="v1.0.0")

    # The engine and capture are for the MPI of the spec: Spack has one in an installation.
    variant("engine", default=True, description="Mounts on several nodes, by mpiio-engine")
    variant("capture", default=True, description="Specs of running programs, by mpiio-view capture")
    variant("hdf5", default=True, description="Specs of HDF5 files")
    variant("man", default=True, description="Manual pages")

    depends_on("c", type="build")
    depends_on("meson@1.0:", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("scdoc", type="build", when="+man")
    depends_on("cmocka", type="test")
    depends_on("expat@2.4:")
    depends_on("jansson@2.13:")
    depends_on("libfuse@3.10:")
    depends_on("libsodium@1.0.12:")
    depends_on("mpi", when="+engine")
    depends_on("mpi", when="+capture")
    depends_on("hdf5", when="+hdf5")
    requires("^[virtuals=mpi] mpich", "^[virtuals=mpi] openmpi", policy="one_of", when="+engine")
    requires("^[virtuals=mpi] mpich", "^[virtuals=mpi] openmpi", policy="one_of", when="+capture")

    def meson_args(self):
        def switch(option, enabled):
            return f"-D{option}={'enabled' if enabled else 'disabled'}"

        args = [switch(option, f"+{option}" in self.spec) for option in ("engine", "capture", "hdf5", "man")]
        if "+engine" in self.spec:
            args.append("-Dmpi=" + ("mpich" if "^mpich" in self.spec else "openmpi"))
        return args + [switch("tests", self.run_tests), switch("mpi_tests", False)]
