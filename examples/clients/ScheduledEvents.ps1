# Reads the document, gets ready, approves what may be approved; and again.
# Written for Windows PowerShell 5.1 and PowerShell 7.
$ErrorActionPreference = 'Stop'
Add-Type -AssemblyName System.Net.Http

$endpoint = if ($env:FOREWARN_ENDPOINT) { $env:FOREWARN_ENDPOINT } else { 'http://169.254.169.254' }
$events = "$endpoint/metadata/scheduledevents?api-version=2020-07-01"
$instance = "$endpoint/metadata/instance?api-version=2021-02-01"
$pause = if ($env:POLL_SECONDS) { 1000 * [double]$env:POLL_SECONDS } else { 1000 }
$first = 130000 # milliseconds; the very first answer may take two minutes

$approveAll = $args -contains '--approve-all' # even events of other VMs
if ($args | Where-Object { $_ -ne '--approve-all' }) {
    [Console]::Error.WriteLine('usage: ScheduledEvents.ps1 [--approve-all]')
    exit 2
}

$handler = New-Object System.Net.Http.HttpClientHandler
$handler.UseProxy = $false # a proxy would ask for itself
$client = New-Object System.Net.Http.HttpClient $handler
$client.Timeout = [System.Threading.Timeout]::InfiniteTimeSpan # each question has its own

function Initialize-Event($scheduled) {
    # Do here what must be done before the event starts: drain, save, hand over.
}

# Says yes to what our own people asked for, and to a short pause.
function Test-Approvable($scheduled) {
    $seconds = $scheduled.DurationInSeconds
    $isShort = $null -ne $seconds -and $seconds -ge 0 -and $seconds -lt 10
    $scheduled.EventSource -eq 'User' -or ($scheduled.EventType -eq 'Freeze' -and $isShort)
}

# Asks until there is an answer. 400 says that the question is wrong: it is one.
function Get-Answer($url, $tag, $body, $timeout = 10000) {
    for (; ; Start-Sleep -Milliseconds $pause) {
        $method = if ($body) { 'POST' } else { 'GET' }
        $request = New-Object System.Net.Http.HttpRequestMessage ([System.Net.Http.HttpMethod]$method), $url
        $request.Headers.Add('Metadata', 'true')
        if ($tag) { [void]$request.Headers.TryAddWithoutValidation('If-None-Match', $tag) }
        if ($body) {
            $request.Content = New-Object System.Net.Http.StringContent `
                $body, ([System.Text.Encoding]::UTF8), 'application/json'
        }
        $patience = New-Object System.Threading.CancellationTokenSource ([int]$timeout)
        try {
            $answer = $client.SendAsync($request, $patience.Token).GetAwaiter().GetResult()
            $status = [int]$answer.StatusCode
            $text = $answer.Content.ReadAsStringAsync().GetAwaiter().GetResult()
            $found = if ($status -eq 200 -and $text -and -not $body) { $text | ConvertFrom-Json }
            if ($status -notin 404, 410, 429 -and $status -lt 500) {
                return @{ Status = $status; Found = $found; Tag = [string]$answer.Headers.ETag }
            }
            [Console]::Error.WriteLine("$url answers $status")
        } catch {
            [Console]::Error.WriteLine("${url}: $($_.Exception.GetBaseException().Message)")
        } finally {
            $patience.Dispose()
        }
    }
}

function Approve-Event($id) {
    $body = @{ StartRequests = @(@{ EventId = $id }) } | ConvertTo-Json -Depth 3 -Compress
    $answer = Get-Answer $events $null $body
    if ($answer.Status -eq 200) { "$id approved" } else { "$id not approved: $($answer.Status)" }
}

# Gets ready for an event of this VM, and approves it if this VM is named first.
function Resolve-Event($scheduled, $me) {
    $named = @($scheduled.Resources)
    if ($scheduled.EventStatus -ne 'Scheduled') { return }
    if ($named -contains $me) { Initialize-Event $scheduled }
    if ($approveAll -or ($named[0] -eq $me -and (Test-Approvable $scheduled))) {
        Approve-Event $scheduled.EventId
    }
}

for ($me = $null; -not $me; Start-Sleep -Milliseconds $pause) {
    $answer = Get-Answer $instance $null $null $first
    if ($answer.Status -ne 200) { throw "the endpoint answers $($answer.Status)" }
    $me = $answer.Found.compute.name # an empty body happens here, too
}
$seen = @{}
$tag = $null
$timeout = $first
for (; ; Start-Sleep -Milliseconds $pause) {
    $answer = Get-Answer $events $tag $null $timeout
    $timeout = 10000
    if ($answer.Status -notin 200, 304) { throw "the endpoint answers $($answer.Status)" }
    if (-not $answer.Found) { continue } # nothing is new, or the body was empty: that happens
    $tag = $answer.Tag
    $now = @{}
    foreach ($each in @($answer.Found.Events | Where-Object { $_ })) {
        $now[$each.EventId] = $each.EventStatus
        if ($seen[$each.EventId] -ne $each.EventStatus) {
            "$($each.EventId) $($each.EventType) $($each.EventStatus)"
            Resolve-Event $each $me
        }
    }
    $seen.Keys | Where-Object { -not $now.ContainsKey($_) } | ForEach-Object { "$_ gone" }
    $seen = $now
}
