/* The extension `sfumato._kernels`: what numba compiled when the package was built, callable without it.

   numba's own C runtime (arrays in, arrays out, reference counts) is compiled into it, as numba.pycc does, so
   neither numba nor LLVM is needed when it runs. `build.py` writes the table of functions, `entries.h`.
   The type Kernel picks one of a kernel's functions by the types of its arguments: a dictionary from
   fingerprints of arguments to functions, filled by `find`, which sfumato/compiler.py defines. */

#define PYCC_MODULE_NAME _kernels
#define PYCC_USE_NRT 1
#include <pycc/modulemixin.c>

typedef PyObject *(*wrapper_t)(PyObject *, PyObject *, PyObject *);
typedef struct { wrapper_t call; } entry_t;
typedef struct { void **variable; const char *consts; int length; } constants_t;
#include "entries.h"

/* The symbol of 2.35 would keep the wheel from systems with an older C library; this one is in all. */
#if defined(__GLIBC__) && defined(__x86_64__)
__asm__(".symver hypot_of_all,hypot@GLIBC_2.2.5");
extern double hypot_of_all(double, double);
double __wrap_hypot(double x, double y) { return hypot_of_all(x, y); }
#else
extern double __real_hypot(double, double);
double __wrap_hypot(double x, double y) { return __real_hypot(x, y); }
#endif

#define LONGEST 2048  /* bytes of a fingerprint */

typedef struct { PyObject_HEAD PyObject *table; } KernelObject;

/* Append what numba would tell apart about a value; 0 where it is nothing that the build foresaw. */
static int
fingerprint(PyObject *value, unsigned char *key, int *length)
{
    if (*length > LONGEST - 32)
        return 0;
    if (Py_TYPE(value) == &PyArray_Type) {
        PyArrayObject *array = (PyArrayObject *)value;
        PyArray_Descr *dtype = PyArray_DESCR(array);
        int flags = PyArray_FLAGS(array);
        if (dtype->type_num > NPY_DOUBLE || !PyArray_ISNBO(dtype->byteorder) || !(flags & NPY_ARRAY_ALIGNED))
            return 0;
        key[(*length)++] = 'a';
        key[(*length)++] = (unsigned char)dtype->type_num;
        key[(*length)++] = (unsigned char)PyArray_NDIM(array);
        key[(*length)++] = (unsigned char)(
            (flags & NPY_ARRAY_C_CONTIGUOUS ? 'C' : flags & NPY_ARRAY_F_CONTIGUOUS ? 'F' : 'A')
            | (flags & NPY_ARRAY_WRITEABLE ? 0 : 0x80));
        return 1;
    }
    if (PyLong_CheckExact(value)) {
        int over = 0;
        PyLong_AsLongLongAndOverflow(value, &over);
        key[(*length)++] = over ? 'u' : 'i';
        return 1;
    }
    if (PyFloat_CheckExact(value)) {
        key[(*length)++] = 'f';
        return 1;
    }
    if (PyBool_Check(value)) {
        key[(*length)++] = 'b';
        return 1;
    }
    if (PyTuple_Check(value)) {
        Py_ssize_t size = PyTuple_GET_SIZE(value);
        void *kind = Py_TYPE(value);  /* its items follow: another class at the address of one that is gone does no harm */
        key[(*length)++] = '(';
        memcpy(key + *length, &kind, sizeof kind);
        *length += sizeof kind;
        for (Py_ssize_t i = 0; i < size; i++)
            if (!fingerprint(PyTuple_GET_ITEM(value, i), key, length))
                return 0;
        key[(*length)++] = ')';
        return 1;
    }
    if (PyArray_IsScalar(value, Integer) || PyArray_IsScalar(value, Floating) || PyArray_IsScalar(value, Bool)) {
        PyArray_Descr *dtype = PyArray_DescrFromScalar(value);
        int number = dtype->type_num;
        Py_DECREF(dtype);
        if (number > NPY_DOUBLE)
            return 0;
        key[(*length)++] = 's';
        key[(*length)++] = (unsigned char)number;
        return 1;
    }
    return 0;
}

static PyObject *
Kernel_call(KernelObject *self, PyObject *args, PyObject *named)
{
    unsigned char bytes[LONGEST];
    int length = 0;
    PyObject *key, *function, *result;

    if (named != NULL && PyDict_GET_SIZE(named) > 0) {
        PyObject *bind = PyObject_GetAttrString((PyObject *)self, "call_named");
        if (bind == NULL)
            return NULL;
        result = PyObject_Call(bind, args, named);
        Py_DECREF(bind);
        return result;
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args); i++)
        if (!fingerprint(PyTuple_GET_ITEM(args, i), bytes, &length)) {
            length = -1;
            break;
        }
    key = length < 0 ? Py_NewRef(Py_None) : PyBytes_FromStringAndSize((char *)bytes, length);
    if (key == NULL)
        return NULL;
    function = PyDict_GetItemWithError(self->table, key);
    if (function != NULL)
        Py_INCREF(function);
    else if (!PyErr_Occurred()) {
        function = PyObject_CallMethod((PyObject *)self, "find", "(O)", args);
        if (function != NULL && length >= 0 && PyDict_SetItem(self->table, key, function) < 0)
            Py_CLEAR(function);
    }
    Py_DECREF(key);
    if (function == NULL)
        return NULL;
    result = PyObject_Call(function, args, NULL);
    Py_DECREF(function);
    return result;
}

static PyObject *
Kernel_get(PyObject *self, PyObject *instance, PyObject *Py_UNUSED(owner))
{
    return instance == NULL || instance == Py_None ? Py_NewRef(self) : PyMethod_New(self, instance);
}

static PyObject *
Kernel_new(PyTypeObject *type, PyObject *Py_UNUSED(args), PyObject *Py_UNUSED(named))
{
    KernelObject *self = (KernelObject *)type->tp_alloc(type, 0);
    if (self != NULL && (self->table = PyDict_New()) == NULL)
        Py_CLEAR(self);
    return (PyObject *)self;
}

static int
Kernel_traverse(KernelObject *self, visitproc visit, void *arg)
{
    Py_VISIT(self->table);
    return 0;
}

static int
Kernel_clear(KernelObject *self)
{
    Py_CLEAR(self->table);
    return 0;
}

static void
Kernel_dealloc(KernelObject *self)
{
    PyObject_GC_UnTrack(self);
    Kernel_clear(self);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

static PyTypeObject KernelType = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "sfumato._kernels.Kernel",
    .tp_doc = "A callable that picks one of its functions by the types of its arguments.",
    .tp_basicsize = sizeof(KernelObject),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
    .tp_new = Kernel_new,
    .tp_call = (ternaryfunc)Kernel_call,
    .tp_descr_get = Kernel_get,
    .tp_traverse = (traverseproc)Kernel_traverse,
    .tp_clear = (inquiry)Kernel_clear,
    .tp_dealloc = (destructor)Kernel_dealloc,
};

/* Whether this processor has what the code was compiled for. */
static PyObject *
serves(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(none))
{
    __builtin_cpu_init();
    return PyBool_FromLong(__builtin_cpu_supports("popcnt") && __builtin_cpu_supports("sse4.2")
#if BASELINE >= 3
                           && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")
                           && __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("bmi")
#endif
    );
}

/* Give the function of a number. */
static PyObject *
function(PyObject *module, PyObject *number)
{
    static PyMethodDef definitions[COUNT];
    long at = PyLong_AsLong(number);
    if (at < 0 || at >= COUNT) {
        if (!PyErr_Occurred())
            PyErr_SetNone(PyExc_IndexError);
        return NULL;
    }
    definitions[at].ml_name = "kernel";
    definitions[at].ml_meth = (PyCFunction)entries[at].call;
    definitions[at].ml_flags = METH_VARARGS | METH_KEYWORDS;
    return PyCFunction_NewEx(&definitions[at], module, NULL);
}

static PyMethodDef methods[] = {
    {"serves", serves, METH_NOARGS, "Whether this processor has what the code was compiled for."},
    {"function", function, METH_O, "Give the function of a number."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_kernels", "Kernels that numba compiled when the package was built.", -1, methods,
};

PyMODINIT_FUNC
PyInit__kernels(void)
{
    static PyMethodDef none[] = {{NULL, NULL, 0, NULL}};
    static env_def_t no_environments[1];
    static env_gv_t no_variables[] = {NULL};
    PyObject *module = PyModule_Create(&definition);

    if (module == NULL || PyType_Ready(&KernelType) < 0
        || PyModule_AddObjectRef(module, "Kernel", (PyObject *)&KernelType) < 0
        || PyModule_AddStringConstant(module, "contents", contents) < 0
        || pycc_init__kernels(module, none, no_environments, no_variables))
        return NULL;
    for (int i = 0; i < ENVIRONMENTS; i++) {
        env_def_t told = {environments[i].consts, environments[i].length, NULL, NULL, 0};
        if ((*environments[i].variable = recreate_environment(module, told)) == NULL)
            return NULL;
    }
    return module;
}
