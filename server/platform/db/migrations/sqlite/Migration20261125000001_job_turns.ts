import { Migration } from '@mikro-orm/migrations'

export class Migration20261125000001_job_turns extends Migration {
  override up() {
    this.addSql('alter table `jobs` add column `owner` text null;')
    this.addSql("alter table `jobs` add column `turn` bigint not null default '0';")
    this.addSql('alter table `jobs` add column `interruptions` integer not null default 0;')
    this.addSql('create index `jobs_kind_state_priority_turn_run_at_id_index` on `jobs` (`kind`, `state`, `priority`, `turn`, `run_at`, `id`);')
    this.addSql('create index `jobs_kind_owner_state_turn_index` on `jobs` (`kind`, `owner`, `state`, `turn`);')
  }
}
