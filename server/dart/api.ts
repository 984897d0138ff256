/** The public API of a package as its sources show it: what reading them gives, and what points, pages and comparisons are made of. */
export type Api = {
  /** The libraries below `lib/`, those below `lib/src/` left out, by path. */
  libraries: Library[]
  /** What each file below `lib/` imports and exports, those below `lib/src/` included, by its path in the archive; that of a part stands with its library. */
  files: { path: string; imports: LibraryImport[] }[]
  /** Types below `lib/` that no library shows: private ones, those of `lib/src/` that are not exported, and those that no documentation is to show. */
  hidden: Declaration[]
  /** Files in which something was not understood, by their paths below `lib/`. What stands around it is there all the same. */
  unclear: string[]
}

export type Library = {
  /** Below `lib/`, such as `widgets.dart`. */
  path: string
  /** What a `library` directive says, else its path without `.dart`. */
  name: string
  doc: string | null
  /** Libraries that it imports or exports, as written, with those of conditions. */
  imports: LibraryImport[]
  /** What it declares and what it exports from files of this package, exports followed through `show` and `hide`. */
  declarations: Declaration[]
  /** What it exports of other packages, as written. */
  foreignExports: string[]
  /** What it exports of other packages, by itself or through files of this package, with the names that it shows or hides on the way. */
  reexports: Reexport[]
}

export type Reexport = { uri: string; combinators: { shows: boolean; names: string[] }[] }

export type LibraryImport = {
  kind: 'import' | 'export'
  uri: string
  /** `if (dart.library.js_interop) 'web.dart'`: the condition and what is taken then. */
  conditions: { condition: string; uri: string }[]
}

export type DeclarationKind =
  | 'class'
  | 'mixin'
  | 'extension'
  | 'extension type'
  | 'enum'
  | 'function'
  | 'typedef'
  | 'variable'
  | 'constant'
  | 'getter'
  | 'setter'

export type Declaration = Described & {
  kind: DeclarationKind
  /** Types that it extends, implements, mixes in, or stands `on`, as written, with their type arguments. */
  supertypes: { relation: 'extends' | 'implements' | 'with' | 'on' | 'represents'; type: string }[]
  members: Member[]
  /** Whether it is a class with the constructor that one has which declares none; absent where that could not be read. */
  hasDefaultConstructor?: boolean
}

export type MemberKind = 'constructor' | 'method' | 'operator' | 'getter' | 'setter' | 'field' | 'constant' | 'enum value'

export type Member = Described & {
  kind: MemberKind
  isStatic: boolean
  /** Whether it says that it overrides what it inherits; it inherits its documentation, too. */
  isOverride: boolean
  /** The name of the superclass's constructor that a constructor calls; absent for the unnamed one. */
  superConstructor?: string
}

type Described = {
  /** Without type parameters; that of a constructor is `Name` or `Name.named`, that of an unnamed extension empty. */
  name: string
  /** As a reader of the documentation sees it: modifiers, types, parameters with defaults, without annotations and body, in one line. */
  signature: string
  /** Its doc comment as Markdown, without slashes or stars; null where there is none. */
  doc: string | null
  /** The message of `@Deprecated`, empty for `@deprecated`; null when it is neither. */
  deprecated: string | null
  /** Where it is declared: a path in the archive and a line, from 1. */
  source: { path: string; line: number }
}
