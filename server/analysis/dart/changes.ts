import { z } from 'zod'

const element = z.object({
  /** Path below `lib/` of the library that exports the element. */
  library: z.string(),
  /** Kind, such as `class`, `method` or `library`. */
  kind: z.string(),
  /** Qualified name: `Name`, `Name.member`, or the path of a library. */
  name: z.string(),
})

const single = element.extend({ signature: z.string() })

/** Differences between the public APIs of two versions. */
export const apiChangesSchema = z.object({
  added: z.array(single),
  removed: z.array(single),
  changed: z.array(
    element.extend({
      before: z.string(),
      after: z.string(),
      /** Reasons why callers may break, as sentence fragments; empty for a compatible change. */
      breaks: z.array(z.string()),
    }),
  ),
})
export type ApiChanges = z.infer<typeof apiChangesSchema>
