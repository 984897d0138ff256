const largest = 8

/**
 * Runs a test of time limits of tenths of seconds. If it fails, for example because the machine is too busy for such limits, it is repeated at twice the
 * scale, up to eight times the length. The test multiplies its limits, and the time that its clients take, by the scale: a limit that is missing or
 * too short then fails at every scale. @throws the error at the largest scale.
 */
export async function atSomeScale(run: (scale: number) => Promise<void>): Promise<void> {
  for (let scale = 1; ; scale *= 2) {
    try {
      return await run(scale)
    } catch (error) {
      if (scale === largest) throw error
    }
  }
}
