const largest = 8

/**
 * Runs a test of time limits that are tenths of seconds long. On a machine that is too busy for them, where the test fails, it is repeated with limits
 * of twice the length, up to eight times. A limit that is missing or wrong fails at every scale. @throws the error at the largest scale.
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
