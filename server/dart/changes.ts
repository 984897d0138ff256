import { z } from 'zod'

const element = z.object({
  /** The library that shows it, by its path below `lib/`. */
  library: z.string(),
  /** Such as `class`, `method`, `library`. */
  kind: z.string(),
  /** `Name`, or `Name.member`; the path of a library. */
  name: z.string(),
})

const single = element.extend({ signature: z.string() })

/** How the public API of one version differs from that of another. */
export const apiChangesSchema = z.object({
  added: z.array(single),
  removed: z.array(single),
  changed: z.array(
    element.extend({
      before: z.string(),
      after: z.string(),
      /** What code that uses it may stumble over; empty for a change that breaks none. */
      breaks: z.array(z.string()),
    }),
  ),
})
export type ApiChanges = z.infer<typeof apiChangesSchema>
