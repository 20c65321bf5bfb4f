"""Our environments behind the interfaces of other libraries; each needs the library it is named after."""
